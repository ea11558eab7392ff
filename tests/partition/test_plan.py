import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.partition.problems import cases
from unskew.errors import InvalidInputError, InvalidParameterError
from unskew.hashing.mix import mix
from unskew.partition import (
    CONSTRUCTIONS,
    Frequencies,
    KeyMove,
    PartitionFunction,
    Planner,
    Resources,
    consistent_function,
)

KEYS = mix(np.arange(20_000, dtype=np.uint64))
SHARES = 1 / np.arange(1, len(KEYS) + 1)
ZIPF = Frequencies(KEYS, SHARES / SHARES.sum())
EACH = pytest.mark.parametrize("construction", CONSTRUCTIONS)


def loads(function, keys):
    return np.bincount(function.lookup(keys), ZIPF.of(keys), function.n_workers)


@given(data=st.data())
def test_a_migration_is_what_changes_its_worker_and_what_that_costs(data):
    case = data.draw(cases("scan"))
    plan = case.plan()

    migration = plan.migration(case.previous)

    keys = np.union1d(case.frequencies.keys, case.previous.keys)
    before, after = case.previous.lookup(keys).tolist(), plan.function.lookup(keys).tolist()
    shares = case.frequencies.of(keys)
    state = case.planner.resources.state_costs(shares)
    expected = {
        KeyMove(int(key), origin, destination, cost)
        for key, origin, destination, cost in zip(keys, before, after, state, strict=True)
        if origin != destination
    }
    assert set(migration.moves()) == expected
    assert migration.total == pytest.approx(sum(move.cost for move in expected))
    assert plan.moves == migration.moves()
    assert len(migration) == len(expected)


@EACH
@pytest.mark.parametrize("n", [2, 10, 30])
def test_a_new_worker_takes_keys_that_are_not_tracked_and_nobody_else_does(construction, n):
    planner = Planner(construction=construction)
    first = planner.plan(consistent_function(n), ZIPF).function

    plan = planner.plan(first, ZIPF, n + 1)

    migration = plan.migration(first)
    tracked = np.isin(migration.keys, np.union1d(first.keys, plan.function.keys))
    moved = migration.destinations[~tracked]
    assert set(moved) == {n}
    assert 0.5 < len(moved) / (len(KEYS) / (n + 1)) < 1.5


@EACH
@pytest.mark.parametrize(("before", "after"), [(10, 11), (10, 20), (11, 10), (20, 5), (1, 8)])
def test_workers_that_come_get_their_part_and_those_that_go_leave_nothing(
    construction, before, after
):
    planner = Planner(construction=construction)
    first = planner.plan(consistent_function(before), ZIPF).function

    function = planner.plan(first, ZIPF, after).function

    assert function.n_workers == after
    assert function.lookup(KEYS).max() < after
    found, alone = (loads(each, function.keys) for each in (function, consistent_function(after)))
    assert found.std() < 0.9 * alone.std()
    assert found.min() > 0.1 / after


@EACH
def test_fast_workers_get_more(construction):
    capacities = (1.0, 2.0, 4.0, 1.0)

    plan = Planner(construction=construction).plan(consistent_function(4, capacities), ZIPF)

    assert plan.function.ring.capacities == capacities
    times = loads(plan.function, plan.function.keys) / capacities
    assert times.max() / times.min() < 1.5


def test_capacities_stay_unless_others_are_given():
    function = consistent_function(3, (1, 2, 3))

    def after(*workers):
        return Planner().plan(function, ZIPF, *workers).function.ring.capacities

    assert after() == (1, 2, 3)
    assert after(2) == (1, 2)
    assert after(2, (5, 6)) == (5, 6)
    assert after(4, (1, 1, 1, 1)) == (1, 1, 1, 1)
    with pytest.raises(InvalidInputError, match="known for 3 workers only; pass those of all 4"):
        after(4)


def test_without_frequencies_nothing_moves_but_what_must():
    nothing = Frequencies(KEYS[:0], np.empty(0))
    function = PartitionFunction(consistent_function(3).ring, KEYS[:6], np.arange(6) % 3)

    same, fewer = (Planner().plan(function, nothing, n) for n in (3, 2))

    assert same.function == function
    assert same.moves == ()
    assert set(fewer.function.keys) == set(KEYS[[0, 1, 3, 4]])


def test_keys_that_fade_go_back_to_the_ring_and_that_is_counted():
    function = Planner().plan(consistent_function(4), ZIPF).function
    even = Frequencies(KEYS, np.full(len(KEYS), 1 / len(KEYS)))

    plan = Planner().plan(function, even)

    assert len(plan.function) == 0
    off_the_ring = function.workers != function.ring.lookup(function.keys)
    assert len(plan.moves) == off_the_ring.sum() > 0


def test_no_more_keys_are_tracked_than_allowed_and_those_are_the_heaviest():
    plan = Planner(max_tracked=7).plan(consistent_function(10), ZIPF)

    assert set(plan.function.keys) == set(KEYS[:7])


def test_counts_that_are_too_low_by_epsilon_still_find_all_keys_from_delta_on():
    delta = Resources().delta(10)
    shares = np.array([0.5, delta, delta * 0.95, delta * 0.85])
    frequencies = Frequencies(KEYS[:4], shares)

    def tracked(epsilon):
        return len(Planner().plan(consistent_function(10), frequencies, epsilon=epsilon).function)

    assert [tracked(epsilon) for epsilon in (0.0, delta / 10, delta)] == [2, 3, 2]


def test_the_second_step_tracks_fewer_keys_where_costs_are_quadratic():
    joins = Resources(computation="quadratic", domain=len(KEYS))

    plan = Planner(joins, max_tracked=10_000).plan(consistent_function(10), ZIPF)

    assert plan.delta > 2 * joins.delta(10)
    assert len(plan.function) == (ZIPF.shares >= plan.delta).sum()


def test_a_plan_says_what_it_does():
    plan = Planner().plan(consistent_function(2), ZIPF)

    assert repr(plan).startswith("Plan(PartitionFunction(2 workers, ")
    assert repr(plan.migration(plan.function)) == "Migration(0 keys, cost 0)"
    assert plan.n_workers == 2


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"max_tracked": 0}, "at least 1"),
        ({"max_tracked": 2**21}, "at most"),
        ({"max_moves": 0}, "at least 1"),
        ({"max_moves": 1.5}, "a whole number"),
    ],
)
def test_bad_settings_are_refused(parameters, says):
    with pytest.raises(InvalidParameterError, match=says):
        Planner(**parameters)


@pytest.mark.parametrize(
    ("workers", "says"),
    [
        ((0,), "`n_workers` is 0; expected at least 1"),
        ((-1,), "at least 1"),
        ((2.5,), "a whole number"),
        ((2, (1, 0)), "0 for worker 1"),
        ((2, (1, -1)), "-1 for worker 1"),
        ((2, (1, float("nan"))), "nan for worker 1"),
        ((2, (1,)), "1 values for 2 workers"),
    ],
)
def test_workers_that_cannot_be_are_refused(workers, says):
    with pytest.raises((InvalidParameterError, InvalidInputError), match=says):
        Planner().plan(consistent_function(3), ZIPF, *workers)
