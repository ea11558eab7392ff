import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.partition.problems import DEFAULT, default_workload
from unskew.partition import Planner, Resources, consistent_function, quality
from unskew.partition.penalties import (
    Assignment,
    balance_penalty,
    new_board,
    place_all,
    utility_number,
)
from unskew.partition.readj import readj


def readjusted(shares, workers, n, max_moves, utility="apm"):
    """Readjust keys that are where they were; gives how often each moved, and both penalties."""
    board = new_board(shares[np.newaxis], np.ones(n), np.array([0.2]))
    mapped, moves = workers.copy(), np.zeros(len(shares), np.int64)
    place_all(board, mapped)
    before = balance_penalty(board)
    keys = Assignment(shares, workers, workers, shares, spent=0.0, state=shares.sum())
    readj(board, keys, utility_number(utility), max_moves, moves, mapped)
    return mapped, moves, before, balance_penalty(board)


@pytest.mark.parametrize("max_moves", [1, 2, 5])
def test_it_ends_and_moves_no_key_more_often_than_it_may(max_moves):
    random = np.random.default_rng(0)
    shares = -np.sort(-random.zipf(1.5, 200).astype(float))
    shares /= shares.sum()

    mapped, moves, before, after = readjusted(shares, random.integers(0, 25, 200), 50, max_moves)

    assert 0 < moves.max() <= max_moves
    assert after < before
    assert mapped.max() >= 25  # it makes use of the new workers


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 6), keys=st.integers(1, 20))
def test_no_move_or_swap_is_left_that_would_lower_the_balance_penalty(seed, n, keys):
    random = np.random.default_rng(seed)
    shares = -np.sort(-random.integers(1, 64, keys) / 2048)

    mapped, _, _, after = readjusted(shares, random.integers(0, n, keys), n, max_moves=2**31)

    def spread(workers):
        loads = np.bincount(workers, shares, n)
        return loads.max() - loads.min()

    best = spread(mapped)
    assert after == pytest.approx(best / (0.2 * shares.sum() / n))
    for one in range(keys):
        for worker in range(n):
            moved = mapped.copy()
            moved[one] = worker
            assert spread(moved) >= best
        for other in range(one):
            swapped = mapped.copy()
            swapped[[one, other]] = mapped[[other, one]]
            assert spread(swapped) >= best


def test_nothing_moves_for_a_gain_that_is_rounding():
    shares = np.array([5, 3, 2, 2]) / 12  # a swap of the first two changes the last bit of a load

    mapped, moves, _, _ = readjusted(shares, np.array([1, 2, 0, 0]), 4, max_moves=5)

    assert mapped.tolist() == [1, 2, 3, 0]
    assert moves.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("seed", range(2))
def test_it_beats_the_ring_alone_on_the_default_workload_of_the_paper(seed):
    frequencies = default_workload()
    function = alone = consistent_function(1, seed=seed)

    for n in range(2, DEFAULT["N"] + 1):  # sec. 5.1: one channel more each time
        before, function = function, Planner().plan(function, frequencies, n).function
        alone_before, alone = alone, consistent_function(n, seed=seed)

    ours = quality(before, function, frequencies, Resources())
    rings = quality(alone_before, alone, frequencies, Resources())
    assert ours.objective <= rings.objective
    assert ours.imbalance < rings.imbalance
