import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive.fish import Fish as Twin
from tests.streams import loads, replicas, streams
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    SnapshotMismatchError,
    UnskewError,
)
from unskew.grouping.base import first_turn
from unskew.grouping.fish import Fish
from unskew.grouping.snapshot import Snapshot
from unskew.hashing.mix import mix
from unskew.testing import check_grouping

ZIPF = mix(np.minimum(np.random.default_rng(0).zipf(1.4, 20_000), 10**6).astype(np.uint64))
A, B, C, D = mix(np.arange(4, dtype=np.uint64))


@st.composite
def groupings(draw):
    n = draw(st.integers(2, 20))
    speeds = st.lists(st.floats(0.1, 5), min_size=n, max_size=n).map(tuple)
    return Fish(
        n,
        seed=draw(st.integers(0, 2**64 - 1)),
        capacities=draw(st.none() | speeds),
        points=draw(st.sampled_from([1, 20])),
        theta=draw(st.sampled_from([None, 0.001, 0.2])),
        epoch=draw(st.sampled_from([1, 30, 1000])),
        decay=draw(st.sampled_from([0, 0.2, 1])),
        counters=draw(st.sampled_from([1, 5, 1000])),
        min_choices=draw(st.sampled_from([None, 2, 5])),
        interval=draw(st.sampled_from([0, 10.0])),
    )


def twin_of(grouping, source=0):
    parameters = dataclasses.asdict(grouping)
    n = parameters.pop("n_workers")
    return Twin(n, **parameters, start=first_turn(source, n))


def batches(stream, size=3):
    """Cut a stream into parts, each with the moments of its tuples."""
    moments = np.random.default_rng(len(stream.hashes)).exponential(2.0, len(stream.hashes))
    times = np.cumsum(moments)
    for part in np.array_split(np.arange(len(times)), size):
        if part.size:
            weights = None if stream.weights is None else stream.weights[part]
            yield stream.hashes[part], weights, times[part]


def services(n):
    """Draw service times; with those that are whole, waiting times are."""
    whole = st.sampled_from([1.0, 2.0]).map(lambda each: [each] * n)
    return whole | st.lists(st.floats(0.01, 9), min_size=n, max_size=n)


def listed(batch):
    return [None if array is None else array.tolist() for array in batch]


@given(grouping=groupings(), stream=streams(), source=st.integers(0, 5))
def test_it_routes_as_its_twin(grouping, stream, source):
    router, twin = grouping.build(source=source), twin_of(grouping, source)

    assert router.route(*stream).tolist() == twin.route(*stream.lists())
    arrays = router.snapshot().arrays
    assert arrays["loads"].tolist() == twin.backlog
    assert arrays["least_choices"] == [twin.d_min]
    assert choices(router) == twin.m


@given(
    grouping=groupings(),
    stream=streams(),
    source=st.integers(0, 5),
    first_seen=st.integers(0, 2),
    data=st.data(),
)
def test_it_routes_as_its_twin_as_time_passes(grouping, stream, source, first_seen, data):
    router, twin = grouping.build(source=source), twin_of(grouping, source)
    n = grouping.n_workers
    for position, (hashes, weights, times) in enumerate(batches(stream)):
        if position >= first_seen:
            service = data.draw(services(n))
            now = data.draw(st.sampled_from([None, times[0]]))
            router.observe(service_times=service, now=now)
            twin.observe(service, now)
        expected = twin.route(*listed((hashes, weights, times)))
        assert router.route(hashes, weights, times).tolist() == expected
    assert router.snapshot().arrays["loads"].tolist() == twin.backlog


def test_it_routes_as_its_twin_while_service_times_go_up_and_down():
    grouping = Fish(8, theta=0.01, min_choices=5, points=20)
    random = np.random.default_rng(0)
    for _ in range(60):
        router, twin = grouping.build(), twin_of(grouping)
        for step in range(8):
            # Waiting times are whole at first, and who was known to wait as long no longer does.
            service = [float(2 - step % 2)] * 8
            router.observe(service_times=service)
            twin.observe(service)
            hashes = mix(random.zipf(1.3, 3).astype(np.uint64) % np.uint64(4))
            weights = random.integers(1, 9, 3).astype(float)
            assert router.route(hashes, weights).tolist() == twin.route(*listed((hashes, weights)))


@given(grouping=groupings(), stream=streams(), data=st.data())
def test_it_resumes_anywhere_in_time(grouping, stream, data):
    straight, resumed = grouping.build(source=1), grouping.build(source=1)
    service = np.linspace(0.1, 5, grouping.n_workers)
    for position, (hashes, weights, times) in enumerate(batches(stream)):
        if position == 1:
            straight.observe(service_times=service, now=times[0])
            resumed.observe(service_times=service, now=times[0])
        cut = data.draw(st.integers(0, len(hashes)))
        expected = straight.route(hashes, weights, times).tolist()
        found = []
        for part in (slice(cut), slice(cut, None)):
            if len(hashes[part]):
                costs = None if weights is None else weights[part]
                found += resumed.route(hashes[part], costs, times[part]).tolist()
                state = Snapshot.from_bytes(resumed.snapshot().to_bytes())
                resumed = grouping.build(resume=state, source=1)
        assert found == expected
        assert resumed.snapshot().to_bytes() == straight.snapshot().to_bytes()


@settings(max_examples=20)
@given(grouping=groupings(), stream=streams(max_tuples=100))
def test_the_laws_hold_whatever_the_settings(grouping, stream):
    check_grouping(grouping, stream.hashes, stream.weights)


def choices(router):
    """Give M_k of each key that has been hot."""
    arrays = router.snapshot().arrays
    kept = dict(zip(arrays["sketch.keys"].tolist(), arrays["choices"].tolist(), strict=False))
    return {key: most for key, most in kept.items() if most}


def test_a_key_has_workers_by_the_binary_logarithm_of_its_heat():
    router = Fish(64, theta=0.02).build()

    router.route(np.repeat([A, B, C, D], [40, 20, 9, 2]))

    # 40 / 20 = 2, 40 / 9 = 4.4; the second D has had one of 71 before.
    assert choices(router) == {A: 64, B: 32, C: 16}


def test_a_key_that_cools_down_keeps_its_workers_as_long_as_it_has_a_counter():
    router = Fish(64, theta=0.05, epoch=100, counters=2).build()
    router.route(np.repeat([A, B], [60, 30]))
    assert choices(router) == {A: 64, B: 32}

    router.route(np.repeat([B, A], [200, 20]))
    assert choices(router) == {A: 64, B: 64}

    router.route(np.tile([C, D], 500))
    assert A not in choices(router)
    assert B not in choices(router)
    router.route(np.repeat([C, B], [60, 20]))
    assert choices(router)[B] < 64


def test_nobody_is_hot_by_a_tuple_or_by_the_counter_of_another():
    router = Fish(1000, counters=50).build()  # theta of an epoch is less than one tuple

    router.route(mix(np.arange(10_000, dtype=np.uint64)))

    assert choices(router) == {}


def test_a_hot_key_has_at_least_what_the_average_one_needs():
    # A, B and C have 74 of 100 tuples, so they need 0.74 * 30 / 3 = 7.4 workers on average.
    head, tail = np.repeat([A, B, C], [64, 7, 3]), mix(np.arange(50, 76, dtype=np.uint64))
    router = Fish(30, theta=0.02, epoch=100).build()
    router.route(np.concatenate([head, tail]))
    assert choices(router) == {A: 30, B: 3, C: 2}

    router.route(np.full(1, C))

    assert router.snapshot().arrays["least_choices"] == [7]
    assert choices(router)[C] == 7


@pytest.mark.parametrize(("asked", "has"), [(2, 3), (12, 12), (100, 30)])
def test_the_least_number_of_workers_may_be_given(asked, has):
    router = Fish(30, theta=0.02, min_choices=asked).build()

    router.route(np.repeat([A, B, C], [40, 30, 4]))

    assert choices(router)[C] == has


def test_what_is_hot_of_late_counts():
    router = Fish(32).build()
    router.route(np.full(100_000, A))

    workers = router.route(np.full(1000, B))

    assert loads(workers[:3], 32).max() <= 2
    assert loads(workers[3:], 32).max() <= 1000 / 32 + 1


def test_it_balances_with_few_replicas():
    workers = Fish(10).build().route(ZIPF)

    assert loads(workers, 10).max() <= len(ZIPF) / 10 + 1
    assert replicas(ZIPF, workers).mean() < 2


def test_without_a_clock_loads_are_in_proportion_to_capacities():
    speeds = np.array([1, 2, 3, 4])

    workers = Fish(4, capacities=speeds).build().route(ZIPF)

    assert loads(workers, 4) / len(ZIPF) == pytest.approx(speeds / 10, rel=0.01)


def test_loads_come_to_fit_service_times_that_change():
    router = Fish(4, interval=1.0).build()
    times = np.arange(len(ZIPF)) * 0.01  # 100 tuples a second, as many as all can do
    for service, moments in (
        ([0.1, 0.1, 0.025, 0.02], times),
        ([0.02, 0.025, 0.1, 0.1], times + times[-1]),
    ):
        router.observe(service_times=service, now=moments[0])
        workers = router.route(ZIPF, times=moments)
        shares = loads(workers[5000:], 4) / len(workers[5000:])
        wanted = 1 / np.array(service) / 110
        assert shares == pytest.approx(wanted, abs=0.05)


def at(router, **arrays):
    """Give the router with some of its state set."""
    snapshot = router.snapshot()
    for name, values in arrays.items():
        snapshot.arrays[name][:] = values
    return router.grouping.build(snapshot)


def test_the_example_of_figure_7():
    router = Fish(4, theta=0.01).build()
    router.route(np.full(2, A))
    # Assigned so far, and the time for each, so that 50, 40, 100 and 60 are left at 500.
    given = np.array([400, 440, 280, 180])
    service = np.array([550, 540, 600, 560]) / given

    router = at(router, loads=given, service=service, clock=[1, 0])

    assert router.route(np.full(1, A), times=500.0).tolist() == [1]
    left = router.snapshot().arrays["loads"] * service
    assert left == pytest.approx([50, 40 + service[1], 100, 60])


def test_all_the_time_that_has_passed_is_taken_off_and_no_more():
    router = Fish(2, interval=10.0).build()
    router.observe(service_times=[1, 1], now=100)
    router = at(router, loads=[50, 20])

    def left():
        return router.snapshot().arrays["loads"].tolist()

    router.observe(service_times=[1, 1], now=110)  # not more than T
    assert left() == [50, 20]
    router.observe(service_times=[1, 1], now=135)
    assert left() == [15, 0]
    router.observe(service_times=[1, 1], now=90)  # late news
    assert left() == [15, 0]


@pytest.mark.parametrize("told", ["service times", "times"])
def test_nothing_is_worked_off_unless_both_are_known(told):
    router = Fish(4).build()
    if told == "service times":
        router.observe(service_times=[0.1] * 4)
        router.route(ZIPF)
    else:
        router.route(ZIPF, times=np.arange(len(ZIPF), dtype=float))

    assert router.snapshot().arrays["loads"].sum() == len(ZIPF)


def test_once_service_times_are_known_all_time_since_the_first_tuple_counts():
    router = Fish(4).build()
    router.route(ZIPF[:1000], times=100.0)

    router.observe(service_times=[0.1] * 4, now=120.0)

    assert router.snapshot().arrays["loads"].sum() == pytest.approx(1000 - 4 * 20 / 0.1)


def test_another_number_of_sources_begins_elsewhere():
    hot = np.full(4, A)

    firsts = {Fish(50).build(source=source).route(hot)[-1] for source in range(20)}

    assert len(firsts) > 10


@pytest.mark.parametrize("n", [9, 11, 20, 2])
@pytest.mark.parametrize("clock", [False, True])
def test_a_resize_goes_on_with_the_workers_there_are(n, clock):
    router = Fish(10).build()
    if clock:
        router.observe(service_times=np.full(10, 0.1), now=0)
    before = router.route(ZIPF[:10_000], times=1.0 if clock else None)
    state = router.snapshot().to_bytes()

    resized = router.resize(n)
    after = resized.route(ZIPF[10_000:], times=2.0 if clock else None)

    assert set(before.tolist()) == set(range(10))
    assert set(after.tolist()) == set(range(n))
    assert router.snapshot().to_bytes() == state
    again = resized.grouping.build(resized.snapshot())
    assert again.snapshot().to_bytes() == resized.snapshot().to_bytes()


def test_a_resize_remembers_what_is_hot():
    router = Fish(10).build()
    router.route(ZIPF)

    resized = router.resize(8)

    assert resized.grouping.threshold == 1 / 32
    assert choices(resized) == {key: min(d, 8) for key, d in choices(router).items()}
    assert resized.sketch.tracked().counts.tolist() == router.sketch.tracked().counts.tolist()


def test_tail_keys_stay_between_their_two_workers_or_move_to_the_new_one():
    keys = np.unique(ZIPF)
    router = Fish(10, theta=0.9).build()
    pairs = [{*two} for two in zip(*(router.route(keys).tolist() for _ in range(2)), strict=True)]

    after = router.resize(11).route(keys).tolist()

    strangers = sum(w != 10 and w not in two for w, two in zip(after, pairs, strict=True))
    assert after.count(10) / len(keys) < 2 / 11
    # In two calls most keys, not all, are seen on both of their workers.
    assert strangers / len(keys) < 0.5


def test_with_a_clock_backlogs_outlast_a_resize_and_a_new_worker_has_none():
    router = Fish(2, capacities=(1, 2)).build()
    router.observe(service_times=[4, 1], now=0)
    router = at(router, loads=[30, 10])

    arrays = router.resize(4, [1, 2, 3, 6]).snapshot().arrays

    assert arrays["loads"].tolist() == [30, 10, 0, 0]
    # 3 s of work on average at capacity 1.
    assert arrays["service"].tolist() == [4, 1, 1, 0.5]
    assert arrays["clock"].tolist() == [1, 0]


def test_without_a_clock_loads_count_anew_after_a_resize():
    router = Fish(10).build()
    router.route(ZIPF)

    resized = router.resize(11)

    assert loads(resized.route(ZIPF), 11).max() <= len(ZIPF) / 11 + 1


@pytest.mark.parametrize(
    ("parameters", "error", "says"),
    [
        ({"decay": -0.1}, InvalidParameterError, "`decay` is -0.1; expected a number from 0 to 1"),
        ({"decay": 1.1}, InvalidParameterError, "`decay` is 1.1"),
        ({"decay": math.nan}, InvalidParameterError, "`decay` is nan"),
        ({"decay": "0.2"}, InvalidParameterError, "`decay` is '0.2'"),
        ({"decay": True}, InvalidParameterError, "`decay` is True"),
        ({"epoch": 0}, InvalidParameterError, "`epoch` is 0; expected at least 1"),
        ({"epoch": 10.5}, InvalidParameterError, "a whole number"),
        ({"theta": 0.0}, InvalidParameterError, "`theta` is 0.0"),
        ({"theta": 1.5}, InvalidParameterError, "`theta` is 1.5"),
        ({"counters": 0}, InvalidParameterError, "`counters` is 0"),
        ({"min_choices": 1}, InvalidParameterError, "`min_choices` is 1; expected at least 2"),
        ({"interval": -1}, InvalidParameterError, "`interval` is -1"),
        ({"interval": math.inf}, InvalidParameterError, "`interval` is inf"),
        ({"points": 0}, InvalidParameterError, "`points` is 0"),
        ({"capacities": (1, 0, 1)}, InvalidInputError, "is 0 for worker 1"),
        ({"capacities": (1, -1, 1)}, InvalidInputError, "is -1 for worker 1"),
        ({"capacities": (1, math.nan, 1)}, InvalidInputError, "is nan for worker 1"),
        ({"capacities": (1, 1)}, InvalidInputError, "has 2 values for 3 workers"),
    ],
)
def test_bad_settings_are_refused(parameters, error, says):
    with pytest.raises(error, match=says):
        Fish(3, **parameters)


@pytest.mark.parametrize(
    ("service", "now", "error", "says"),
    [
        ([1, 1], 1, InvalidInputError, r"has the shape \(2,\); pass one for each of 3 workers"),
        (1.0, 1, InvalidInputError, r"has the shape \(\)"),
        ([1, 0, 1], 1, InvalidInputError, "is 0.0 for worker 1; pass seconds from"),
        ([1, -2, 1], 1, InvalidInputError, "is -2.0 for worker 1"),
        ([1, math.nan, 1], 1, InvalidInputError, "is nan for worker 1"),
        ([1, math.inf, 1], 1, InvalidInputError, "is inf for worker 1"),
        (["1", "2", "3"], 1, InvalidTypeError, "is a list; pass one number for each worker"),
        ([[1], [1, 2], [3]], 1, InvalidTypeError, "is a list"),
        (None, 1, InvalidTypeError, "is a NoneType"),
        ([1, 1, 1], -1, InvalidParameterError, "`now` is -1"),
        ([1, 1, 1], math.nan, InvalidParameterError, "`now` is nan"),
        ([1, 1, 1], "noon", InvalidParameterError, "`now` is 'noon'"),
    ],
)
def test_bad_observations_are_refused_and_change_nothing(service, now, error, says):
    router = Fish(3).build()
    router.route(ZIPF[:100])
    before = router.snapshot().to_bytes()

    with pytest.raises(error, match=says):
        router.observe(service_times=service, now=now)

    assert router.snapshot().to_bytes() == before


@pytest.mark.parametrize("times", [-1.0, math.nan, "noon", np.zeros(3)])
def test_bad_times_are_refused_and_change_nothing(times):
    router = Fish(3).build()
    router.observe(service_times=[1, 1, 1])
    before = router.snapshot().to_bytes()

    with pytest.raises(UnskewError, match="times"):
        router.route(ZIPF[:100], times=times)

    assert router.snapshot().to_bytes() == before


@pytest.mark.parametrize(
    ("n", "capacities"), [(0, None), (1, None), (-3, None), (4, [1, 2]), (2, [1, 0])]
)
def test_a_resize_that_cannot_be_is_refused_and_changes_nothing(n, capacities):
    router = Fish(3).build()
    router.route(ZIPF[:100])
    before = router.snapshot().to_bytes()

    with pytest.raises(UnskewError):
        router.resize(n, capacities)

    assert router.snapshot().to_bytes() == before


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("choices", 4, "array `choices`' is 4; expected 3|`choices` is 4; expected 3"),
        ("least_choices", 4, "`least_choices` is 4; expected 3"),
        ("position", 1001, "`position` is 1001; expected 1000"),
        ("clock", [2, 5], "clock is"),
        ("service", [1, 0, 1], "least service time"),
        ("service", [1, -1, 1], "service"),
        ("loads", math.inf, "`loads`"),
        ("sketch.capacity", 7, "capacity is 7; expected 1000"),
    ],
)
def test_a_snapshot_that_cannot_be_is_refused_and_changes_nothing(name, values, says):
    router = Fish(3).build()
    router.route(ZIPF[:100])
    snapshot = router.snapshot()
    before = snapshot.to_bytes()
    snapshot.arrays[name][:] = values

    with pytest.raises(SnapshotMismatchError, match=says):
        router.restore(snapshot.arrays)

    assert router.snapshot().to_bytes() == before


def test_a_router_may_take_over_the_state_of_another():
    router, other = Fish(30).build(), Fish(30).build()
    router.route(ZIPF[:5000])
    other.route(mix(ZIPF[:5000]))  # as skewed, of other keys

    router.restore(other.snapshot().arrays)

    assert router.route(mix(ZIPF)).tolist() == other.route(mix(ZIPF)).tolist()
