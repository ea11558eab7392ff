import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew
from tests.naive.lossy_counting import SlidingLossyCounting as NaiveCounting
from tests.streams import loads, replicas, streams
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    SnapshotMismatchError,
    UnknownNameError,
)
from unskew.grouping.explicit import Explicit
from unskew.grouping.snapshot import Snapshot
from unskew.hashing.mix import mix
from unskew.partition import CONSTRUCTIONS, Counted, Planner, Resources, consistent_function
from unskew.testing import check_grouping

ZIPF = mix(np.minimum(np.random.default_rng(0).zipf(1.3, 20_000), 10**6).astype(np.uint64))


def routed(n=10, stream=ZIPF, **parameters):
    router = Explicit(n, **parameters).build()
    router.route(stream)
    return router


@settings(max_examples=30)
@given(
    stream=streams(max_tuples=200),
    n=st.integers(2, 20),
    seed=st.integers(0, 2**64 - 1),
    epsilon=st.sampled_from([0.5, 0.05]),
    window=st.sampled_from([2, 50, 100]),
)
def test_it_routes_as_the_ring_and_counts_as_the_twin_of_its_sketch(
    stream, n, seed, epsilon, window
):
    router = Explicit(n, seed, epsilon=epsilon, window=window).build()

    workers = router.route(*stream)

    assert workers.tolist() == consistent_function(n, seed=seed).lookup(stream.hashes).tolist()
    twin = NaiveCounting(epsilon, window)
    weights = np.ones(len(workers)) if stream.weights is None else stream.weights
    for key, weight in zip(stream.hashes.tolist(), weights.tolist(), strict=True):
        twin.update(key, weight)
    keys, counts, _ = router.counted
    expected = {key: count for key, (count, _) in twin.tracked().items()}
    assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == expected


@settings(max_examples=10)
@given(n=st.integers(2, 12), capacities=st.lists(st.integers(1, 9), min_size=12, max_size=12))
def test_the_laws_hold_with_capacities(n, capacities):
    grouping = Explicit(n, capacities=tuple(capacities[:n]), window=1000, max_tracked=10)

    check_grouping(grouping, ZIPF[:300], None, [7, 100])


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_an_activated_plan_levels_the_workers_and_splits_no_key(construction):
    router = routed(construction=construction)
    before = loads(router.route(ZIPF), 10)

    moved = router.activate(router.plan())
    workers = moved.route(ZIPF)

    hottest = np.unique(ZIPF, return_counts=True)[1].max()
    assert before.max() > 1.2 * hottest
    assert loads(workers, 10).max() <= 1.15 * hottest
    assert replicas(ZIPF, workers).max() == 1


def test_routing_never_moves_a_key_by_itself():
    router = Explicit(10, window=2000).build()
    before = router.function

    for batch in np.split(ZIPF, 10):
        router.route(batch)

    assert router.function == before
    assert router.plan().moves  # although there is reason to


def test_it_plans_with_what_it_counts_as_the_planner_does():
    how = {"construction": "scan", "utility": "atlm", "max_tracked": 30, "max_moves": 2}
    resources = Resources("constant", "quadratic", 1.5, 0.2, 10_000)
    grouping = Explicit(10, resources=resources, epsilon=1e-5, **how)
    router = grouping.build()
    router.route(ZIPF)

    plan = router.plan()

    keys, counts = np.unique(ZIPF, return_counts=True)
    exact = unskew.partition.Frequencies(keys, counts / len(ZIPF))
    expected = Planner(resources, **how).plan(router.function, exact, epsilon=1e-5)
    assert plan.function == expected.function
    assert plan.moves == expected.moves


def test_sources_that_resume_from_one_snapshot_route_alike():
    router = routed()
    data = router.activate(router.plan()).snapshot().to_bytes()

    routes = [
        Explicit(10).build(Snapshot.from_bytes(data), source).route(ZIPF) for source in range(3)
    ]

    assert all(np.array_equal(routes[0], other) for other in routes)
    assert not np.array_equal(routes[0], router.route(ZIPF))


def test_sources_that_activate_one_plan_route_alike():
    one, other = routed(stream=ZIPF[:10_000]), routed(stream=ZIPF[10_000:])
    plan = one.plan()

    routes = [router.activate(plan).route(ZIPF) for router in (one, other)]

    assert np.array_equal(*routes)


@settings(max_examples=30)
@given(stream=streams(weighted=True), cut=st.integers(1, 300))
def test_a_router_that_resumes_goes_on_with_plan_and_counts_to_the_last_bit(stream, cut):
    grouping = Explicit(5, epsilon=0.05, window=100)
    router = grouping.build()
    router.route(*stream)
    router.observe(counted=routed(5, ZIPF[:500]).counted)
    router = router.activate(router.plan())

    resumed = grouping.build(Snapshot.from_bytes(router.snapshot().to_bytes()))

    for each in (router, resumed):
        each.route(stream.hashes[:cut], stream.weights[:cut])
    assert resumed.snapshot().to_bytes() == router.snapshot().to_bytes()
    assert resumed.plan().function == router.plan().function


def test_activating_leaves_the_router_at_hand_and_its_counts_go_on():
    router = routed()
    before = router.snapshot().to_bytes()

    moved = router.activate(router.plan())

    assert moved.counted.total == router.counted.total
    moved.route(ZIPF[:100])
    assert router.snapshot().to_bytes() == before


def test_what_other_sources_counted_is_planned_with_and_fades():
    one, other = routed(stream=ZIPF[:10_000]), routed(stream=ZIPF[10_000:])
    before = one.plan()

    one.observe(counted=other.counted)

    both = Counted.together([one.counted, other.counted])
    assert one.plan().frequencies.shares.tolist() != before.frequencies.shares.tolist()
    assert one.plan().frequencies.shares.sum() == pytest.approx(both.counts.sum() / 20_000)
    observed = one.snapshot().arrays["observed.total"]
    faded = one.activate(one.plan()).snapshot().arrays["observed.total"]
    assert (observed.tolist(), faded.tolist()) == ([10_000.0], [2000.0])


def test_a_driver_that_only_observes_plans_as_one_source_that_saw_all():
    driver, all_of_it = Explicit(10, epsilon=1e-5).build(), routed(epsilon=1e-5)
    for part in np.split(ZIPF, 4):
        driver.observe(counted=routed(stream=part, epsilon=1e-5).counted)

    assert driver.plan().function == all_of_it.plan().function


def test_memory_does_not_grow_with_what_is_observed():
    router = Explicit(10, max_tracked=10).build()
    limit = 1 / router.grouping.epsilon
    for start in range(0, 40_000, 1000):
        keys = mix(np.arange(start, start + 1000, dtype=np.uint64))
        router.observe(counted=Counted(keys, np.ones(1000), 1000.0))

    arrays = router.snapshot().arrays
    assert len(arrays["observed.keys"]) <= limit
    assert arrays["observed.total"].tolist() == [40_000.0]


@pytest.mark.parametrize("to", [2, 5, 9, 11, 20])
def test_a_resize_plans_for_the_workers_there_will_be(to):
    router = routed()
    router = router.activate(router.plan())
    before = router.snapshot().to_bytes()

    resized = router.resize(to)

    assert resized.function == router.plan(to).function
    assert resized.grouping == router.grouping.resize(to)
    assert router.activate(router.plan(to)).function == resized.function
    workers = resized.route(ZIPF)
    assert workers.max() < to
    assert replicas(ZIPF, workers).max() == 1
    assert router.snapshot().to_bytes() == before
    again = resized.grouping.build(resized.snapshot())
    assert again.route(ZIPF).tolist() == workers.tolist()


def test_a_resize_before_anything_is_counted_moves_what_the_ring_moves():
    at_ten = Explicit(10).build()

    at_eleven = at_ten.resize(11)

    before, after = at_ten.route(ZIPF), at_eleven.route(ZIPF)
    assert set(after[before != after]) == {10}


def test_capacities_are_heeded_and_kept():
    router = routed(4, capacities=(1, 1, 2, 4))
    moved = router.activate(router.plan())

    assert moved.grouping.capacities == (1, 1, 2, 4)
    assert moved.resize(3).grouping.capacities == (1, 1, 2)
    assert moved.resize(2, (3, 4)).grouping.capacities == (3, 4)
    by_load = loads(moved.route(ZIPF), 4)
    assert by_load[3] == by_load.max() > 2 * by_load[0]
    with pytest.raises(InvalidInputError, match="known for 4 workers only"):
        router.plan(5)


def test_epsilon_bounds_the_counters_and_stays_when_workers_change():
    delta = Resources().delta(10)

    assert Explicit(10).epsilon == delta / 10
    assert Explicit(10).resize(100).epsilon == delta / 10
    assert Explicit(1000).epsilon == 1 / (10 * 1000)
    assert Explicit(1000, max_tracked=50).epsilon == 1 / (10 * 50)


def test_it_pickles():
    grouping = Explicit(10, resources=Resources(abs, "quadratic", (1.1, 2.0, 3.0)))

    assert pickle.loads(pickle.dumps(grouping)) == grouping


@pytest.mark.parametrize(
    ("parameters", "error", "says"),
    [
        ({"construction": "reads"}, UnknownNameError, "did you mean 'readj'"),
        ({"utility": "apmm"}, UnknownNameError, "did you mean 'apm'"),
        ({"resources": "linear"}, InvalidTypeError, r"pass unskew.partition.Resources\(...\)"),
        ({"max_tracked": 0}, InvalidParameterError, "at least 1"),
        ({"max_moves": 0}, InvalidParameterError, "at least 1"),
        ({"epsilon": 0.0}, InvalidParameterError, r"in \(0, 1\)"),
        ({"epsilon": float("nan")}, InvalidParameterError, r"in \(0, 1\)"),
        ({"window": 1}, InvalidParameterError, "at least 2"),
        ({"window": 101}, InvalidParameterError, "an even number of tuples"),
        ({"decay": 1.0}, InvalidParameterError, r"in \(0, 1\)"),
        ({"points": 0}, InvalidParameterError, "at least 1"),
        ({"capacities": (1.0,) * 9}, InvalidInputError, "9 values for 10 workers"),
        ({"capacities": (0.0,) * 10}, InvalidInputError, "0.0 for worker 0"),
        ({"capacities": (-1.0,) * 10}, InvalidInputError, "-1.0 for worker 0"),
        ({"capacities": (float("nan"),) * 10}, InvalidInputError, "nan for worker 0"),
    ],
)
def test_bad_settings_are_refused(parameters, error, says):
    with pytest.raises(error, match=says):
        Explicit(10, **parameters)


@pytest.mark.parametrize("n", [0, 1, -3, 2.5])
@pytest.mark.parametrize("call", ["resize", "plan"])
def test_other_workers_than_can_be_are_refused_and_change_nothing(call, n):
    router = routed()
    before = router.snapshot().to_bytes()

    with pytest.raises(InvalidParameterError, match="`n_workers`"):
        getattr(router, call)(n)

    assert router.snapshot().to_bytes() == before


def test_a_plan_for_another_function_is_refused():
    router = routed()
    plan = router.plan()

    with pytest.raises(InvalidInputError, match="made for another partitioning function"):
        router.activate(plan).activate(plan)
    with pytest.raises(InvalidInputError, match="made for another partitioning function"):
        Explicit(10, seed=1).build().activate(plan)
    with pytest.raises(InvalidTypeError, match="what plan"):
        router.activate(plan.function)


@pytest.mark.parametrize(
    ("counted", "error"),
    [
        ((ZIPF[:2], np.ones(2), 2.0), InvalidTypeError),
        (Counted(ZIPF[:2].astype(float), np.ones(2), 2.0), InvalidTypeError),
        (Counted(np.arange(2, dtype=np.uint64), np.array([1, np.nan]), 2.0), InvalidInputError),
        (Counted(np.arange(2, dtype=np.uint64), np.ones(2), 1.0), InvalidInputError),
    ],
)
def test_what_nobody_can_have_counted_is_refused_and_changes_nothing(counted, error):
    router = routed()
    before = router.snapshot().to_bytes()

    with pytest.raises(error):
        router.observe(counted=counted)

    assert router.snapshot().to_bytes() == before


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("workers", lambda array: array + 10),
        ("workers", lambda array: array[1:]),
        ("keys", lambda array: array[:1].repeat(len(array))),
        ("observed.total", lambda array: array * 0),
        ("observed.counts", lambda array: -array),
        ("sketch.window", lambda array: array + 2),
        ("sketch.0.counts", lambda array: array[1:]),
    ],
)
def test_a_snapshot_that_no_router_wrote_is_refused_and_changes_nothing(name, damage):
    router = routed()
    router.observe(counted=router.counted)
    router = router.activate(router.plan())
    snapshot = router.snapshot()
    before = snapshot.to_bytes()
    snapshot.arrays[name] = damage(snapshot.arrays[name])

    with pytest.raises(SnapshotMismatchError):
        router.restore(snapshot.arrays)

    assert router.snapshot().to_bytes() == before
