"""Readj: keys stay where they are, but for moves and swaps that improve the balance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.partition.penalties import (
    Assignment,
    Board,
    balance_penalty,
    migration_penalty,
    penalty_after,
    rank_loads,
    shift,
    utility,
)

# A penalty that is lower by less than this share is lower by rounding alone.
_CLEARLY = 1 - 1e-9


@kernel
def readj(
    board: Board,
    keys: Assignment,
    number: int,
    max_moves: int,
    moves: npt.NDArray[np.int64],
    mapped: npt.NDArray[np.int64],
) -> None:
    """Readjust a mapping of all keys, which the board has (Gedik sec. 4.2.4, Alg. 4).

    Each round looks at every move and every swap, and carries out the one that gains most utility
    for the share it moves, of those that lower the balance penalty; so rounds come to an end. No
    key moves more than ``max_moves`` times: at most R * max_moves rounds of O(R^2 + R N).

    In Alg. 4 as printed a candidate that does not lower the penalty ends the search for its pair
    (`break`), and u becomes the utility of the best candidate so far, so that the result depends
    on the order; here it is passed over, and u is the utility of the mapping as it is.

    As printed, two workers without tracked keys would stay without, and with them all others where
    the hottest key alone is the largest load: a key for one of the two does not raise the smallest
    load. Here all such workers but one are left aside, and the next counts when that one has a key.
    """
    spent = keys.spent
    for worker in range(board.held.shape[0]):
        board.aside[worker] = board.held[worker] == 0
    _let_in(board)
    while True:
        key, target, back, spent_then = _best(board, keys, spent, number, max_moves, moves, mapped)
        if key < 0:
            if not _let_in(board):
                return
            continue
        origin = mapped[key]
        shift(board, key, origin, target)
        mapped[key] = target
        moves[key] += 1
        if back >= 0:
            shift(board, back, target, origin)
            mapped[back] = origin
            moves[back] += 1
        rank_loads(board)
        spent = spent_then


@kernel
def _best(
    board: Board,
    keys: Assignment,
    spent: float,
    number: int,
    max_moves: int,
    moves: npt.NDArray[np.int64],
    mapped: npt.NDArray[np.int64],
) -> tuple[int, int, int, float]:
    """Return the best readjustment: a key, where it goes, and who comes back or -1, and the cost.

    The key is -1 if none lowers the penalty. Of equal gains the first counts: heavier keys before
    lighter ones, moves before swaps. A swap of equal shares changes no load, and its gain would
    divide by 0; it is passed over.
    """
    count, n = mapped.shape[0], board.held.shape[0]
    rho = balance_penalty(board)
    now = utility(number, rho, migration_penalty(keys, spent, n))
    best, best_key, best_target, best_back, best_spent = -np.inf, -1, -1, -1, 0.0
    for key in range(count):
        if moves[key] == max_moves:
            continue
        origin = mapped[key]
        # First the workers to move to, then the keys to swap with.
        for choice in range(n + count - key - 1):
            back = -1 if choice < n else key + 1 + choice - n
            target = choice if back < 0 else mapped[back]
            # Between workers of which none has an extreme load nothing lowers the penalty.
            if target == origin or not (board.extreme[origin] or board.extreme[target]):
                continue
            share = keys.shares[key] - (keys.shares[back] if back >= 0 else 0.0)
            if share == 0.0 or board.aside[target] or (back >= 0 and moves[back] == max_moves):
                continue
            rho_then = penalty_after(board, key, origin, target, back)
            if rho_then >= _CLEARLY * rho:
                continue
            cost = spent + _fare(keys, key, origin, target)
            if back >= 0:
                cost += _fare(keys, back, target, origin)
            gain = (now - utility(number, rho_then, migration_penalty(keys, cost, n))) / abs(share)
            if gain > best:
                best, best_key, best_target, best_back = gain, key, target, back
                best_spent = cost
    return best_key, best_target, best_back, best_spent


@kernel
def _let_in(board: Board) -> bool:
    """Let one more worker count, if all that count have keys; tells whether there was one."""
    found = -1
    for worker in range(board.held.shape[0]):
        if board.aside[worker]:
            found = worker if found < 0 else found
        elif board.held[worker] == 0:
            found = -1
            break
    if found >= 0:
        board.aside[found] = False
    rank_loads(board)
    return found >= 0


@kernel
def _fare(keys: Assignment, key: int, origin: int, target: int) -> float:
    """Return what a move adds to the migration: less than nothing for a way back (eq. 22)."""
    cost: float = keys.moving[key]
    if keys.old[key] == origin:
        return cost
    return -cost if keys.old[key] == target else 0.0
