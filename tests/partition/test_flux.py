import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import flux as naive
from unskew.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from unskew.partition import flux


@st.composite
def placements(draw):
    """Draw the loads and owners of key groups, some perhaps on workers that are no more."""
    n = draw(st.integers(1, 8), label="workers")
    before = draw(st.integers(1, 8), label="workers before")
    groups = draw(st.integers(0, 30), label="groups")
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="loads"))
    kind = draw(st.sampled_from(["alike", "few", "skewed"]), label="kind of loads")
    loads = {
        "alike": np.ones(groups, np.int64),
        "few": random.integers(0, 4, groups),
        "skewed": np.minimum(random.zipf(1.5, groups), 10**6),
    }[kind]
    owners = random.integers(0, before, groups)
    capacities = draw(st.lists(st.integers(1, 10), min_size=n, max_size=n), label="capacities")
    return loads.astype(np.float64), owners, n, capacities


def variance(loads, owners, n, capacities):
    speeds = np.array(capacities)
    totals = np.bincount(owners, loads, n)
    return (speeds * (totals / speeds - loads.sum() / speeds.sum()) ** 2).sum()


@given(placement=placements())
def test_it_plans_as_its_twin(placement):
    loads, owners, n, capacities = placement

    plan = flux(loads, owners, n, capacities)

    expected = naive.flux(loads.astype(int).tolist(), owners.tolist(), n, capacities)
    assert list(plan.moves) == expected


@given(placement=placements())
def test_the_moves_lead_from_the_old_owners_to_the_new(placement):
    loads, owners, n, capacities = placement

    plan = flux(loads, owners, n, capacities)

    reached = owners.copy()
    for group, origin, destination in plan.moves:
        assert reached[group] == origin != destination
        reached[group] = destination
    assert plan.owners.tolist() == reached.tolist()
    assert len({move.group for move in plan.moves}) == len(plan.moves)
    assert np.all(plan.owners < n)


@given(placement=placements())
def test_every_move_that_is_not_forced_lowers_the_variance(placement):
    loads, owners, n, capacities = placement
    plan = flux(loads, owners, n, capacities)

    at = owners.copy()
    forced = [move for move in plan.moves if move.origin >= n]
    for move in forced:
        at[move.group] = move.destination
    last = variance(loads, at, n, capacities)
    for move in plan.moves[len(forced) :]:
        at[move.group] = move.destination
        now = variance(loads, at, n, capacities)
        assert now < last
        last = now


@given(placement=placements())
def test_only_the_groups_of_lost_workers_are_forced_to_move(placement):
    loads, owners, n, capacities = placement

    plan = flux(loads, owners, n, capacities)

    forced = {move.group for move in plan.moves if move.origin >= n}
    assert forced == set(np.flatnonzero(owners >= n).tolist())


def test_a_new_worker_gets_its_share_and_no_other_takes_any():
    owners = np.repeat(np.arange(4), 16)

    plan = flux(np.ones(64), owners, 5)

    assert {move.destination for move in plan.moves} == {4}
    assert np.bincount(plan.owners).tolist() == [13, 13, 13, 13, 12]


def test_a_fast_worker_gets_more():
    plan = flux(np.ones(80), np.arange(80) % 2, 2, capacities=[1, 3])

    assert np.bincount(plan.owners).tolist() == [20, 60]


def test_nothing_moves_that_does_not_help():
    assert flux(np.array([5.0, 0.0]), np.array([0, 0]), 2).moves == ()
    assert flux(np.array([0.1 + 0.2, 0.3]), np.array([0, 1]), 2).moves == ()


def test_skewed_groups_are_levelled_as_far_as_their_size_allows():
    loads = np.minimum(np.random.default_rng(0).zipf(1.5, 1600), 10**4).astype(np.float64)
    owners = np.arange(1600) % 100

    plan = flux(loads, owners, 100)

    least_possible = max(loads.max(), loads.sum() / 100)
    assert np.bincount(owners, loads).max() > 1.4 * least_possible
    assert np.bincount(plan.owners, loads).max() < 1.05 * least_possible


def test_a_plan_cannot_be_written_to():
    plan = flux(np.ones(4), np.zeros(4, np.int64), 2)

    with pytest.raises(ValueError, match="read-only"):
        plan.owners[0] = 1
    assert repr(plan) == "FluxPlan(2 of 4 groups move)"


@pytest.mark.parametrize(
    ("loads", "owners", "n", "error", "says"),
    [
        (np.array([1.0, np.nan]), np.zeros(2, int), 2, InvalidInputError, "nan for group 1"),
        (np.array([-1.0]), np.zeros(1, int), 2, InvalidInputError, "-1.0 for group 0"),
        ([1.0], np.zeros(1, int), 2, InvalidTypeError, "`loads` is a list"),
        (np.ones((2, 2)), np.zeros(4, int), 2, InvalidTypeError, "2-D array"),
        (np.ones(2), np.zeros(3, int), 2, InvalidInputError, "3 values for 2 groups"),
        (np.ones(2), np.zeros(2), 2, InvalidTypeError, "array of float64"),
        (np.ones(2), np.array([0, -1]), 2, InvalidInputError, "-1 for group 1"),
        (np.ones(2), np.zeros(2, int), 0, InvalidParameterError, "at least 1"),
    ],
)
def test_bad_input_is_refused(loads, owners, n, error, says):
    with pytest.raises(error, match=says):
        flux(loads, owners, n)


@pytest.mark.parametrize("capacities", [[1.0], [1.0, 0.0], [1.0, float("nan")]])
def test_bad_capacities_are_refused(capacities):
    with pytest.raises(InvalidInputError, match="capacities"):
        flux(np.ones(2), np.zeros(2, np.int64), 2, capacities)
