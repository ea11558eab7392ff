import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew
from tests.naive import key_groups as naive
from tests.streams import loads as loads_of
from tests.streams import replicas, streams
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    SnapshotMismatchError,
)
from unskew.grouping.key_groups import KeyGroups
from unskew.grouping.snapshot import Snapshot
from unskew.hashing.mix import mix
from unskew.partition import flux
from unskew.testing import check_grouping

ZIPF = mix(np.minimum(np.random.default_rng(0).zipf(1.3, 20_000), 10**6).astype(np.uint64))


@given(
    stream=streams(),
    n=st.integers(2, 20),
    groups=st.integers(20, 50),
    seed=st.integers(0, 2**64 - 1),
)
def test_it_routes_and_counts_as_its_twin_before_and_after_a_plan(stream, n, groups, seed):
    router = KeyGroups(n, seed, groups=groups).build()
    twin = naive.KeyGroups(n, groups, router.owners.tolist(), seed)
    assert router.route(*stream).tolist() == twin.route(*stream.lists())
    assert router.loads.tolist() == twin.group_loads

    plan = router.plan()
    moved = router.activate(plan)
    twin.owners = plan.owners.tolist()

    assert moved.route(*stream).tolist() == twin.route(*stream.lists())


@given(n=st.integers(2, 12), capacities=st.lists(st.integers(1, 9), min_size=12, max_size=12))
def test_the_laws_hold_with_capacities(n, capacities):
    check_grouping(KeyGroups(n, capacities=tuple(capacities[:n])), ZIPF[:300], None, [7, 100])


@given(stream=streams(), n=st.integers(2, 50), seed=st.integers(0, 2**64 - 1))
def test_it_routes_as_key_grouping_until_something_moves(stream, n, seed):
    workers = KeyGroups(n, seed).build().route(*stream)

    assert workers.tolist() == unskew.grouping("key", n, seed=seed).build().route(*stream).tolist()


@given(stream=streams(weighted=True), cuts=st.lists(st.integers(0, 400), max_size=4))
def test_counts_do_not_depend_on_how_the_stream_is_cut(stream, cuts):
    whole, parts = KeyGroups(4).build(), KeyGroups(4).build()
    whole.route(*stream)
    for hashes, weights in zip(*(np.split(each, sorted(cuts)) for each in stream), strict=True):
        if len(hashes):
            parts.route(hashes, weights)

    assert whole.snapshot().to_bytes() == parts.snapshot().to_bytes()


def test_routing_never_moves_a_group_by_itself():
    router = KeyGroups(10).build()
    before = router.owners.copy()

    for batch in np.split(ZIPF, 10):
        router.route(batch)

    assert router.owners.tolist() == before.tolist()
    assert router.plan().moves  # although there is reason to


def test_an_activated_plan_levels_the_workers_and_splits_no_key():
    router = KeyGroups(10).build()
    before = loads_of(router.route(ZIPF), 10)

    moved = router.activate(router.plan())
    workers = moved.route(ZIPF)

    group_limit = max(router.loads.max(), len(ZIPF) / 10)
    assert before.max() > 1.1 * group_limit
    assert loads_of(workers, 10).max() <= 1.02 * group_limit
    assert replicas(ZIPF, workers).max() == 1


def test_sources_that_resume_from_one_snapshot_route_alike():
    router = KeyGroups(10).build()
    router.route(ZIPF)
    snapshot = router.activate(router.plan()).snapshot()

    routes = [
        KeyGroups(10).build(Snapshot.from_bytes(snapshot.to_bytes()), source).route(ZIPF)
        for source in range(3)
    ]

    assert all(np.array_equal(routes[0], other) for other in routes)


@pytest.mark.parametrize("decay", [0, 0.5, 1])
def test_activating_leaves_the_router_at_hand_and_fades_the_counts(decay):
    router = KeyGroups(4, decay=decay).build()
    router.route(ZIPF)
    before = router.snapshot().to_bytes()

    moved = router.activate(router.plan())

    assert router.snapshot().to_bytes() == before
    assert moved.loads.tolist() == (router.loads * decay).tolist()


def test_what_other_sources_counted_is_planned_with():
    one, other, both = (KeyGroups(10).build() for _ in range(3))
    one.route(ZIPF[:10_000])
    other.route(ZIPF[10_000:])
    both.route(ZIPF)

    one.observe(loads=other.loads)

    assert one.loads.tolist() == both.loads.tolist()
    assert one.plan().moves == both.plan().moves


@given(
    n=st.integers(2, 12),
    to=st.integers(2, 12),
    counted=st.booleans(),
    capacities=st.lists(st.integers(1, 9), min_size=12, max_size=12),
)
def test_resizing_moves_groups_as_flux_does(n, to, counted, capacities):
    router = KeyGroups(n, groups=96).build()
    if counted:
        router.route(ZIPF[:2000])
    before = router.snapshot().to_bytes()

    resized = router.resize(to, capacities[:to])

    loads = router.loads if counted else np.ones(96)
    assert (
        resized.owners.tolist() == flux(loads, router.owners, to, capacities[:to]).owners.tolist()
    )
    assert resized.loads.tolist() == router.loads.tolist()
    assert resized.route(ZIPF).max() < to
    assert router.snapshot().to_bytes() == before
    assert resized.grouping.build(resized.snapshot()).snapshot().arrays.keys() == {
        "owners",
        "loads",
    }


def test_capacities_decide_how_many_groups_a_worker_has():
    router = KeyGroups(3, capacities=(1, 2, 5), groups=80).build()

    assert np.bincount(router.owners).tolist() == [10, 20, 50]


def test_the_number_of_groups_stays_when_workers_come():
    assert KeyGroups(10).resize(20).groups == KeyGroups(10).groups == 160


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"groups": 9}, "`groups` is 9; expected at least 10, one for each worker"),
        ({"groups": 0}, "at least 1"),
        ({"groups": 2**25}, "at most"),
        ({"groups": 20.0}, "a whole number"),
        ({"decay": -0.1}, "`decay` is -0.1; expected a number from 0 to 1"),
        ({"decay": 1.1}, "a number from 0 to 1"),
        ({"decay": np.nan}, "a number from 0 to 1"),
        ({"decay": True}, "a number from 0 to 1"),
        ({"capacities": (1.0,) * 9}, "9 values for 10 workers"),
    ],
)
def test_bad_settings_are_refused(parameters, says):
    with pytest.raises((InvalidParameterError, InvalidInputError), match=says):
        KeyGroups(10, **parameters)


def test_it_cannot_grow_beyond_its_groups():
    with pytest.raises(InvalidParameterError, match="at least 161"):
        KeyGroups(10).build().resize(161)


@pytest.mark.parametrize(
    ("loads", "says"),
    [
        ([1.0] * 32, "a list"),
        (np.ones(31), r"shape \(31,\); pass one for each of 32 key groups"),
        (np.full(32, np.inf), "inf for key group 0"),
        (np.full(32, -1), "-1 for key group 0"),
    ],
)
def test_bad_loads_are_refused_and_change_nothing(loads, says):
    router = KeyGroups(2).build()

    with pytest.raises((InvalidTypeError, InvalidInputError), match=says):
        router.observe(loads=loads)

    assert not router.loads.any()


def test_a_plan_for_other_owners_is_refused():
    router = KeyGroups(10).build()
    router.route(ZIPF)
    plan = router.plan()

    with pytest.raises(InvalidInputError, match="made for other owners"):
        router.activate(plan).activate(plan)
    with pytest.raises(InvalidInputError, match="made for other owners"):
        KeyGroups(10, groups=161).build().activate(plan)
    with pytest.raises(InvalidInputError, match="made for other owners"):
        router.resize(11).activate(plan)
    with pytest.raises(InvalidTypeError, match="what plan"):
        router.activate(plan.moves)


def test_a_snapshot_with_an_owner_that_is_not_there_is_refused():
    snapshot = KeyGroups(4).build().snapshot()
    snapshot.arrays["owners"][5] = 4

    with pytest.raises(SnapshotMismatchError, match="largest owner is 4; expected 3"):
        KeyGroups(4).build(snapshot)
