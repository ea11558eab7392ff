import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import gedik as naive
from unskew.errors import UnknownNameError
from unskew.partition import UTILITIES, Planner
from unskew.partition.penalties import (
    balance_penalty,
    new_board,
    penalty_after,
    penalty_with,
    place,
    place_all,
    rank_loads,
    shift,
    utility,
    utility_number,
)


@st.composite
def boards(draw):
    """Draw a board with some keys on it: what they cost, who has them, and the board."""
    n, keys = draw(st.integers(2, 6), label="workers"), draw(st.integers(1, 8), label="keys")
    rows = draw(st.integers(1, 3), label="resources")
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="costs"))
    costs = random.integers(0, 8, (rows, keys)) / 8
    slowness = 2.0 ** random.integers(-1, 2, n)
    board = new_board(costs, slowness, random.integers(1, 8, rows) / 8)
    mapped = random.integers(0, n, keys)
    place_all(board, mapped)
    return board, mapped


def brute_force(board, mapped):
    """Give the balance penalty of a mapping from eq. 19 and 20 alone."""
    n, product = len(board.slowness), 1.0
    for costs, theta in zip(board.costs, board.thetas, strict=True):
        placed = mapped >= 0
        loads = np.bincount(mapped[placed], costs[placed], n) * board.slowness
        average = costs[placed].sum() / n
        product *= (loads.max() - loads.min()) / (theta * average) if average else 0.0
    return product ** (1 / len(board.costs))


@given(drawn=boards())
def test_the_penalty_of_a_board_is_that_of_the_paper(drawn):
    board, mapped = drawn

    assert balance_penalty(board) == pytest.approx(brute_force(board, mapped))


@given(drawn=boards())
def test_a_key_more_is_judged_as_if_it_were_placed(drawn):
    board, mapped = drawn
    without = mapped.copy()
    without[-1] = -1
    partly = new_board(board.costs, board.slowness, board.thetas)
    for key, worker in enumerate(without[:-1]):
        place(partly, key, worker)
    rank_loads(partly)

    for worker in range(len(board.slowness)):
        without[-1] = worker
        found = penalty_with(partly, len(mapped) - 1, worker)
        assert found == pytest.approx(brute_force(board, without))


@given(drawn=boards())
def test_a_move_or_swap_is_judged_as_if_it_were_done(drawn):
    board, mapped = drawn
    for key, origin in enumerate(mapped):
        for target in set(range(len(board.slowness))) - {origin}:
            for back in [-1, *np.flatnonzero(mapped == target)]:
                after = mapped.copy()
                after[key] = target
                if back >= 0:
                    after[back] = origin
                found = penalty_after(board, key, origin, target, back)
                assert found == pytest.approx(brute_force(board, after))


@given(drawn=boards(), data=st.data())
def test_a_board_after_a_move_is_as_if_drawn_anew(drawn, data):
    board, mapped = drawn
    key = data.draw(st.integers(0, len(mapped) - 1))
    target = data.draw(st.integers(0, len(board.slowness) - 1))

    shift(board, key, mapped[key], target)
    rank_loads(board)

    mapped[key] = target
    assert balance_penalty(board) == pytest.approx(brute_force(board, mapped))


@pytest.mark.parametrize("name", UTILITIES)
@pytest.mark.parametrize(("rho", "gamma"), [(0.0, 0.0), (1.5, 0.0), (0.5, 2.0)])
def test_utilities_are_those_of_the_paper(name, rho, gamma):
    found = utility(utility_number(name), rho, gamma)

    assert math.isclose(found, naive.UTILITIES[name](rho, gamma))


def test_an_unknown_utility_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="utility function is called 'ampl'; did you mean"):
        Planner(utility="ampl")
