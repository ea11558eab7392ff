import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew
from tests.naive import cg as naive
from tests.naive import groupings
from tests.streams import loads as loads_of
from tests.streams import streams
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    SnapshotMismatchError,
    UnknownNameError,
)
from unskew.grouping.cg import ConsistentGrouping, signal
from unskew.grouping.snapshot import Snapshot
from unskew.hashing.mix import mix
from unskew.testing import check_grouping

ZIPF = mix(np.minimum(np.random.default_rng(0).zipf(1.4, 200_000), 10**6).astype(np.uint64))

speeds = st.lists(st.integers(1, 10), min_size=2, max_size=8)


@st.composite
def reports(draw, n_workers, max_size=12):
    """Draw what the workers say at some moments, a few seconds apart."""
    size = draw(st.integers(0, max_size), label="moments")
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="signals"))
    times = np.cumsum(random.integers(0, 4, size)).tolist()
    return [(random.choice([-1, 0, 1], n_workers), now) for now in times]


def owned(router):
    """Give how many virtual workers each worker has."""
    return np.bincount(router.virtual.owners, minlength=router.grouping.n_workers)


INNER = {
    "key": groupings.KeyGrouping,
    "pkg": groupings.PartialKeyGrouping,
    "shuffle": lambda n, _seed: groupings.ShuffleGrouping(n),
    "two-choices": groupings.TwoChoices,
}


@given(
    data=st.data(),
    stream=streams(),
    capacities=speeds,
    alpha=st.integers(1, 6),
    inner=st.sampled_from(sorted(INNER)),
    seed=st.integers(0, 2**64 - 1),
    t_0=st.integers(0, 6),
    probe=st.booleans(),
)
def test_it_routes_as_its_twin_whatever_workers_say(
    data, stream, capacities, alpha, inner, seed, t_0, probe
):
    n = len(capacities)
    router = ConsistentGrouping(
        n, seed, tuple(capacities), inner, alpha=alpha, t_0=t_0, probe=probe
    ).build()
    twin = naive.ConsistentGrouping(INNER[inner](alpha * n, seed), capacities, t_0, probe)
    said = data.draw(reports(n))

    for hashes, weights in halves(stream):
        assert router.route(hashes, weights).tolist() == twin.route(
            hashes.tolist(), None if weights is None else weights.tolist()
        )
        for signals, now in said:
            router.observe(signals=signals, now=now)
            twin.observe(signals.tolist(), now)
            assert router.virtual.owners.tolist() == twin.owners


def halves(stream):
    middle = (len(stream.hashes) + 1) // 2
    for part in (slice(middle), slice(middle, None)):
        if len(stream.hashes[part]):
            yield stream.hashes[part], None if stream.weights is None else stream.weights[part]


@given(data=st.data(), capacities=speeds, alpha=st.integers(1, 6), t_0=st.integers(0, 6))
def test_what_always_holds_of_virtual_workers(data, capacities, alpha, t_0):
    n = len(capacities)
    router = ConsistentGrouping(n, alpha=alpha, t_0=t_0, inner="key").build()
    for signals, now in data.draw(reports(n)):
        before = router.virtual.owners.copy()
        router.observe(signals=signals, now=now)
        moved = np.flatnonzero(router.virtual.owners != before)
        arrays = router.virtual.arrays

        assert len(router.virtual.owners) == alpha * n
        assert owned(router).min() >= 1
        assert not np.any((arrays["busy"] > 0) & (arrays["idle"] > 0))
        assert not (arrays["busy"].any() and arrays["idle"].any())  # whom to pair is paired
        givers, takers = before[moved].tolist(), router.virtual.owners[moved].tolist()
        assert len({*givers, *takers}) == 2 * len(moved)  # one each, and nobody does both


@given(
    data=st.data(),
    stream=streams(),
    n=st.integers(2, 6),
    cut=st.integers(0, 12),
    inner=st.sampled_from(["porc", "pkg", "w-choices", "shuffle"]),
)
def test_it_resumes_between_signals(data, stream, n, cut, inner):
    grouping = ConsistentGrouping(n, alpha=3, t_0=2, inner=inner)
    straight, resumed = grouping.build(), grouping.build()
    for position, (signals, now) in enumerate(data.draw(reports(n))):
        if position == cut:
            resumed = grouping.build(Snapshot.from_bytes(resumed.snapshot().to_bytes()))
        for router in (straight, resumed):
            router.observe(signals=signals, now=now)
        assert straight.route(*stream).tolist() == resumed.route(*stream).tolist()
    assert straight.snapshot().to_bytes() == resumed.snapshot().to_bytes()


@pytest.mark.parametrize("inner", [name for name in unskew.groupings() if name != "cg"])
def test_any_scheme_may_spread_tuples_over_the_virtual_workers(inner):
    check_grouping(ConsistentGrouping(5, inner=inner))


def test_the_laws_hold_with_capacities():
    check_grouping(ConsistentGrouping(3, capacities=(1, 2, 30)))


def test_the_scheme_within_takes_its_parameters():
    grouping = ConsistentGrouping(5, inner_parameters={"epsilon": 0.3})

    assert grouping.on_virtual_workers().epsilon == 0.3
    assert grouping == ConsistentGrouping(5, inner_parameters=(("epsilon", 0.3),))
    assert hash(grouping) == hash(ConsistentGrouping(5, inner_parameters={"epsilon": 0.3}))


@given(
    data=st.data(),
    stream=streams(weighted=False),
    capacities=speeds,
    alpha=st.integers(1, 6),
    epsilon=st.sampled_from([0.01, 0.3, 1.0]),
)
def test_the_bound_of_section_6_1_2(data, stream, capacities, alpha, epsilon):
    n, m = len(capacities), len(stream.hashes)
    router = ConsistentGrouping(
        n, alpha=alpha, t_0=0, inner_parameters={"epsilon": epsilon}
    ).build()
    for signals, now in data.draw(reports(n)):
        router.observe(signals=signals, now=now)
    load = loads_of(router.route(stream.hashes), n) / m

    # A virtual worker has at most 1 / (n alpha) + gamma of the load.
    gamma = math.ceil((1 + epsilon) * m / (n * alpha)) / m - 1 / (n * alpha)
    most = owned(router) * (1 / (n * alpha) + gamma)
    assert np.all(load <= most + 1e-9)
    # So who is overloaded has at least so many of them.
    capacity = np.array(capacities) / sum(capacities)
    for theta_b in (1.0, 1.5):
        overloaded = load >= theta_b * capacity
        least = theta_b * capacity / (1 / (n * alpha) + gamma)
        assert np.all(owned(router)[overloaded] >= least[overloaded] - 1e-9)


def run(router, capacities, slots, now=0.0, demand=0.8, tuples=4000):
    """Route, let workers of these capacities see how busy they are, and say so; once a slot."""
    share = np.array(capacities) / sum(capacities)
    for slot in range(slots):
        at = slot * tuples % len(ZIPF)
        load = loads_of(router.route(ZIPF[at : at + tuples]), len(capacities)) / tuples
        now += router.grouping.t_0
        router.observe(signals=router.grouping.signal(demand * load / share), now=now)
    return now


def busiest(router, capacities, demand):
    """Give the highest utilisation over a long stretch."""
    load = loads_of(router.route(ZIPF), len(capacities)) / len(ZIPF)
    return (demand * load / np.array(capacities) * sum(capacities)).max()


@pytest.mark.parametrize(("demand", "probe"), [(0.7, False), (0.8, True)])
def test_loads_come_to_fit_capacities_that_nobody_told_and_that_change(demand, probe):
    capacities = [1] * 5 + [10] * 5
    router = ConsistentGrouping(10, alpha=40, probe=probe).build()
    assert busiest(router, capacities, demand) > 3

    now = run(router, capacities, slots=60, demand=demand)
    assert busiest(router, capacities, demand) < 0.9

    run(router, capacities[::-1], slots=100, now=now, demand=demand)
    assert busiest(router, capacities[::-1], demand) < 0.9


def test_without_probing_slow_workers_stay_busy_if_none_is_idle():
    capacities = [1] * 5 + [10] * 5
    router = ConsistentGrouping(10, alpha=40).build()

    run(router, capacities, slots=100, demand=0.8)

    assert busiest(router, capacities, 0.8) > 1


def test_probing_stops_where_all_workers_are_busy():
    router = ConsistentGrouping(10, alpha=10, probe=True).build()
    before = router.virtual.owners.copy()

    run(router, [1] * 10, slots=10, demand=1.5)

    assert router.virtual.owners.tolist() == before.tolist()


def test_routes_already_made_are_not_revised():
    router = ConsistentGrouping(2, t_0=0).build()
    routed = router.route(ZIPF[:1000])
    before = routed.copy()

    for now in range(5):
        router.observe(signals=[1, -1], now=now)

    assert routed.tolist() == before.tolist()
    assert router.route(ZIPF[:1000]).tolist() != before.tolist(), "else nothing has moved"


def test_workers_that_are_neither_busy_nor_idle_keep_what_they_have():
    router = ConsistentGrouping(10, alpha=10).build()
    before = router.virtual.owners.copy()

    run(router, [1] * 10, slots=10)

    assert router.virtual.owners.tolist() == before.tolist()


def test_a_worker_is_not_heeded_again_within_its_time_slot():
    router = ConsistentGrouping(2, inner="key", t_0=10).build()

    has = []
    for now in (0, 5, 9.9, 10, 15):
        router.observe(signals=[1, -1], now=now)
        has.append(owned(router).tolist())

    assert has == [[9, 11], [9, 11], [9, 11], [8, 12], [8, 12]]


def test_a_busy_worker_waits_for_an_idle_one_first_come_first_served():
    router = ConsistentGrouping(4, inner="key", t_0=1).build()
    router.observe(signals=[0, 0, 1, 0], now=0)
    router.observe(signals=[1, 0, 0, 0], now=1)
    router.observe(signals=[1, 0, 1, 0], now=2)  # both keep their places
    assert owned(router).tolist() == [10, 10, 10, 10]

    router.observe(signals=[0, -1, 0, 0], now=3)
    assert owned(router).tolist() == [10, 11, 9, 10]

    router.observe(signals=[0, 0, 0, -1], now=4)
    assert owned(router).tolist() == [9, 11, 9, 11]


def test_who_says_the_opposite_changes_queues():
    router = ConsistentGrouping(3, inner="key", t_0=1).build()
    router.observe(signals=[1, 0, 0], now=0)
    router.observe(signals=[-1, 0, 0], now=1)

    router.observe(signals=[0, -1, 0], now=2)
    assert owned(router).tolist() == [10, 10, 10]
    router.observe(signals=[0, 0, 1], now=3)
    assert owned(router).tolist() == [11, 10, 9]


def test_the_virtual_worker_that_came_last_goes_first():
    router = ConsistentGrouping(2, inner="key", t_0=0).build()
    before = router.virtual.owners.copy()

    router.observe(signals=[1, -1], now=0)
    router.observe(signals=[-1, 1], now=1)

    assert router.virtual.owners.tolist() == before.tolist()


def test_a_worker_keeps_its_last_virtual_worker():
    router = ConsistentGrouping(2, alpha=3, inner="key", t_0=0).build()

    for now in range(10):
        router.observe(signals=[1, -1], now=now)

    assert owned(router).tolist() == [1, 5]


@given(
    data=st.data(),
    n=st.integers(2, 8),
    to=st.integers(2, 12),
    capacities=st.lists(st.integers(1, 10), min_size=12, max_size=12),
    change=st.booleans(),
)
def test_resizing_moves_the_fewest_virtual_workers(data, n, to, capacities, change):
    router = ConsistentGrouping(n, alpha=6, t_0=0, inner="pkg").build()
    router.route(ZIPF[:100])
    for signals, now in data.draw(reports(n)):
        router.observe(signals=signals, now=now)
    before, state = router.virtual.owners.copy(), router.snapshot().to_bytes()

    resized = router.resize(to, capacities[:to] if change else None)

    after = resized.virtual.owners
    had, has = np.bincount(before, minlength=max(n, to)), np.bincount(after, minlength=max(n, to))
    assert np.count_nonzero(before != after) == np.maximum(had - has, 0).sum()
    assert has[:to].min() >= 1
    assert has[to:].sum() == 0
    if to == n and not change:
        assert after.tolist() == before.tolist()
    assert router.snapshot().to_bytes() == state
    hashes = ZIPF[100:200]
    assert resized.route(hashes).tolist() == after[router._inner.route(hashes)].tolist()
    again = resized.grouping.build(resized.snapshot())
    assert again.snapshot().to_bytes() == resized.snapshot().to_bytes()


def test_a_new_worker_gets_an_even_share_and_only_takes():
    router = ConsistentGrouping(9, alpha=20).build()

    resized = router.resize(10)

    assert owned(resized).tolist() == [18] * 10
    changed = resized.virtual.owners != router.virtual.owners
    assert set(resized.virtual.owners[changed].tolist()) == {9}


def test_what_was_learned_of_workers_that_stay_outlasts_a_resize():
    router = ConsistentGrouping(4, alpha=10, inner="key", t_0=0).build()
    for now in range(5):
        router.observe(signals=[1, -1, 0, 0], now=now)
    assert owned(router).tolist() == [5, 15, 10, 10]

    assert owned(router.resize(3)).tolist() == [7, 20, 13]
    assert owned(router.resize(5)).tolist() == [4, 12, 8, 8, 8]
    assert owned(router.resize(4, [1, 1, 1, 1])).tolist() == [5, 15, 10, 10]
    assert owned(router.resize(4, [5, 1, 1, 1])).tolist() == [25, 5, 5, 5]


def test_after_a_resize_queues_are_empty_and_slots_go_on():
    router = ConsistentGrouping(3, inner="key", t_0=10).build()
    router.observe(signals=[1, 0, 0], now=5)

    resized = router.resize(4)

    assert not resized.virtual.arrays["busy"].any()
    assert resized.virtual.arrays["heard_from"].tolist() == [15, 0, 0, 0]


def test_signals_by_utilisation():
    assert signal([0.0, 0.75, 0.76, 0.84, 0.85, 2.0]).tolist() == [-1, -1, 0, 0, 1, 1]
    assert signal(0.9) == 1
    grouping = ConsistentGrouping(2, theta_b=1.2, theta_i=0.9, inner="key")
    assert grouping.signal([1.0, 1.2]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("parameters", "error", "says"),
    [
        ({"inner": "prc"}, UnknownNameError, "did you mean 'porc'"),
        ({"inner": "cg"}, InvalidParameterError, "another scheme than cg itself"),
        ({"inner_parameters": {"epsilonn": 1}}, UnknownNameError, "did you mean 'epsilon'"),
        ({"inner_parameters": 7}, InvalidParameterError, "a dictionary"),
        ({"alpha": 0.5}, InvalidParameterError, "`alpha` is 0.5; expected a finite number, at"),
        ({"alpha": math.nan}, InvalidParameterError, "at least 1"),
        ({"alpha": 1e9}, InvalidParameterError, "virtual workers in all"),
        ({"alpha": "10"}, InvalidParameterError, "a finite number"),
        ({"theta_i": 0.9}, InvalidParameterError, "less than theta_b = 0.85"),
        ({"theta_b": math.inf}, InvalidParameterError, "theta_b"),
        ({"theta_i": -0.1}, InvalidParameterError, "at least 0"),
        ({"t_0": -1}, InvalidParameterError, "`t_0` is -1; expected a finite number, at least 0"),
        ({"probe": 1}, InvalidParameterError, "True or False"),
        ({"capacities": (1, 0, 1)}, InvalidInputError, "0 for worker 1"),
    ],
)
def test_bad_settings_are_refused(parameters, error, says):
    with pytest.raises(error, match=says):
        ConsistentGrouping(3, **parameters)


@pytest.mark.parametrize(
    ("signals", "now", "error", "says"),
    [
        ([1, -1], 100, InvalidInputError, "one for each of 3 workers"),
        ([1, -1, 2], 100, InvalidInputError, "2 for worker 2"),
        ([0.9, 0.1, 0.5], 100, InvalidTypeError, "what signal"),
        ([1, -1, 0], -1, InvalidParameterError, "`now` is -1"),
        ([1, -1, 0], math.nan, InvalidParameterError, "`now` is nan"),
        ([1, -1, 0], None, InvalidParameterError, "`now` is None"),
    ],
)
def test_bad_signals_are_refused_and_change_nothing(signals, now, error, says):
    router = ConsistentGrouping(3, inner="key").build()
    before = router.snapshot().to_bytes()

    with pytest.raises(error, match=says):
        router.observe(signals=signals, now=now)

    assert router.snapshot().to_bytes() == before


def test_it_cannot_grow_beyond_its_virtual_workers():
    router = ConsistentGrouping(3, alpha=2, inner="key").build()

    with pytest.raises(InvalidParameterError, match="at most 6, the number of virtual workers"):
        router.resize(7)
    with pytest.raises(InvalidParameterError, match="at least 2"):
        router.resize(0)


def test_workers_may_come_whatever_the_scheme_within_is_made_for():
    grouping = ConsistentGrouping(2, inner="key-groups", inner_parameters={"groups": 20})

    assert grouping.resize(3).resize(5).n_virtual == grouping.n_virtual == 20


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("owners", [3, 0, 1, 2, 0, 1], "largest owner is 3; expected 2"),
        ("owners", [0, 0, 0, 0, 1, 1], "least number of virtual workers is 0; expected 1"),
        ("idle", [0, 0, 1], "worker in both queues is 2"),
        ("heard_from", [-1, 0, 0], "heard_from"),
    ],
)
def test_a_snapshot_that_cannot_be_is_refused(name, values, says):
    grouping = ConsistentGrouping(3, alpha=2, inner="pkg")
    snapshot = grouping.build().snapshot()
    snapshot.arrays["busy"][2] = 1
    snapshot.arrays[name][:] = values

    with pytest.raises(SnapshotMismatchError, match=says):
        grouping.build(snapshot)


def test_a_snapshot_of_another_scheme_within_is_refused():
    snapshot = ConsistentGrouping(3, inner="pkg").build().snapshot()

    with pytest.raises(SnapshotMismatchError, match=r"pkg\.loads"):
        ConsistentGrouping(3, inner="porc").build(snapshot)
