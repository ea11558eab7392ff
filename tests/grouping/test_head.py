import numpy as np
import pytest

import unskew
from unskew.errors import InvalidParameterError, SnapshotMismatchError
from unskew.hashing import hash_keys

HEAD_SCHEMES = ["w-choices", "d-choices", "round-robin"]


@pytest.mark.parametrize("name", HEAD_SCHEMES)
@pytest.mark.parametrize("theta", [0, 1, 1.5, -0.1, float("nan"), "0.1", True])
def test_a_theta_outside_its_range_is_refused(name, theta):
    with pytest.raises(InvalidParameterError, match=r"`theta` is .*expected a number in") as caught:
        unskew.grouping(name, 10, theta=theta)
    assert repr(theta) in str(caught.value)


@pytest.mark.parametrize("name", HEAD_SCHEMES)
@pytest.mark.parametrize("settings", [{"theta": 1e-12}, {"theta": 0.1, "capacity": 2**31}])
def test_more_counters_than_can_be_numbered_are_refused(name, settings):
    with pytest.raises(InvalidParameterError, match="1073741824"):
        unskew.grouping(name, 10, **settings)


@pytest.mark.parametrize("name", HEAD_SCHEMES)
def test_too_few_counters_for_theta_are_refused(name):
    with pytest.raises(InvalidParameterError, match="at least 1 / theta = 20 counters"):
        unskew.grouping(name, 10, theta=0.05, capacity=19)


@pytest.mark.parametrize("name", HEAD_SCHEMES)
def test_a_snapshot_of_another_theta_is_refused(name):
    snapshot = unskew.grouping(name, 10, theta=0.1).build().snapshot()

    with pytest.raises(SnapshotMismatchError, match="capacity is 20; expected 40"):
        unskew.grouping(name, 10, theta=0.05).build(resume=snapshot)


@pytest.mark.parametrize("name", HEAD_SCHEMES)
def test_a_stream_without_skew_has_no_head(name):
    """The least counter of a full sketch must stay below theta, or all keys are spread."""
    hashes = hash_keys(np.tile(np.arange(5000), 20))
    grouping = unskew.grouping(name, 10)

    router = grouping.build()
    router.route(hashes)

    assert len(router.sketch.heavy(router.theta).keys) == 0


@pytest.mark.parametrize("name", HEAD_SCHEMES)
def test_loads_of_a_snapshot_are_by_worker_on_any_source(name):
    hashes = hash_keys(np.random.default_rng(0).zipf(1.5, 500))
    for source in range(5):
        router = unskew.grouping(name, 7).build(source=source)

        workers = router.route(hashes)

        assert router.snapshot().arrays["loads"].tolist() == np.bincount(workers).tolist()
