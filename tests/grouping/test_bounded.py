"""What `bounded` adds to a bound: a ring, capacities, and workers that come and go."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.grouping.test_bound import levels_over_time
from tests.naive.bounded import BoundedLoads as Twin
from tests.streams import streams
from unskew.errors import UnskewError
from unskew.grouping.bounded import BoundedLoads
from unskew.grouping.consistent import ConsistentHashing
from unskew.hashing.mix import mix
from unskew.testing import check_grouping

HASHES = mix(np.random.default_rng(0).zipf(1.5, 5000).astype(np.uint64))


@st.composite
def with_capacities(draw):
    capacities = draw(st.lists(st.floats(0.1, 5), min_size=2, max_size=20).map(tuple))
    return BoundedLoads(
        len(capacities),
        draw(st.integers(0, 2**64 - 1)),
        capacities,
        draw(st.integers(1, 20)),
        draw(st.sampled_from([1e-3, 0.01, 0.5])),
    )


@given(stream=streams(), grouping=with_capacities())
def test_with_capacities_it_routes_as_its_twin(stream, grouping):
    workers = grouping.build().route(*stream)

    twin = Twin(
        grouping.n_workers, grouping.seed, grouping.epsilon, grouping.points, grouping.capacities
    )
    assert workers.tolist() == twin.route(*stream.lists())


@given(stream=streams(), grouping=with_capacities())
def test_the_bound_is_in_proportion_to_the_capacity(stream, grouping):
    workers = grouping.build().route(*stream)

    capacities = np.array(grouping.capacities)
    reached, totals = levels_over_time(workers, grouping.n_workers, stream.weights, capacities)
    largest = 1 if stream.weights is None else stream.weights.max()
    bounds = (1 + grouping.epsilon) * totals[:, np.newaxis] / capacities.sum()
    assert (reached <= bounds + largest / capacities + 1e-9).all()


@given(stream=streams(), grouping=with_capacities())
def test_the_laws_hold_whatever_the_capacities(stream, grouping):
    check_grouping(grouping, stream.hashes, stream.weights)


def test_under_a_wide_bound_it_is_consistent_hashing():
    keys = np.unique(HASHES)

    workers = BoundedLoads(10, epsilon=9.0).build().route(keys)

    assert workers.tolist() == ConsistentHashing(10).build().route(keys).tolist()


def test_a_worker_that_is_gone_gets_nothing_more():
    router = BoundedLoads(10).build()
    before = router.route(HASHES)

    after = router.resize(9).route(HASHES)

    assert 9 in before
    assert 9 not in after


@pytest.mark.parametrize("n", [9, 10, 11])
def test_after_a_resize_loads_count_anew(n):
    router = BoundedLoads(10, epsilon=0.1).build()
    router.route(HASHES)

    resized = router.resize(n)

    assert resized.snapshot().arrays["total"] == [0]
    assert (
        resized.route(HASHES).tolist()
        == BoundedLoads(n, epsilon=0.1).build().route(HASHES).tolist()
    )


def test_a_resize_leaves_the_router_as_it_was():
    router = BoundedLoads(10).build()
    router.route(HASHES)
    before = router.snapshot().to_bytes()

    router.resize(12).route(HASHES)
    for n, capacities in ((0, None), (1, None), (3, [1, 2]), (2, [1, 0])):
        with pytest.raises(UnskewError):
            router.resize(n, capacities)

    assert router.snapshot().to_bytes() == before
