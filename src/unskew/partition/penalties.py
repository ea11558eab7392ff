"""How good a mapping of tracked keys is: balance penalty, migration penalty, utility.

Gedik sec. 4.2.1 and 4.3. The constructions try thousands of mappings that differ in the worker of
one key, or two. So the loads are kept, with the three largest and the three smallest of each
resource: whichever two workers change, the extremes of the others are at hand, and a mapping costs
O(1) to judge. The paper asks for O(log N).

Loads are relative to the speed of their worker; the paper's workers are all alike.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unskew._kernel import inlined, kernel
from unskew.errors import UnknownNameError
from unskew.typing import Loads

UTILITIES = ("a", "apm", "aplm", "atm", "atlm")
"""Names of sec. 4.3 by number: rho; rho + gamma; rho + log(1 + gamma); rho (1 + gamma);
rho (1 + log(1 + gamma))."""
_A, _APM, _APLM, _ATM, _ATLM = range(5)


class Board(NamedTuple):
    """A mapping of keys to workers in the making; one row for each resource that counts."""

    costs: Loads
    """What each key costs."""
    slowness: Loads
    """How much longer each worker takes than the average one."""
    thetas: Loads
    """By which part of the average a load may be off it."""
    loads: Loads
    """Of each worker, from the keys placed."""
    totals: Loads
    """What the keys placed cost together."""
    highs: Loads
    """The three largest loads, and in ``high_at`` whose they are."""
    high_at: npt.NDArray[np.int64]
    lows: Loads
    """The three smallest loads of those that count, and in ``low_at`` whose they are."""
    low_at: npt.NDArray[np.int64]
    held: npt.NDArray[np.int64]
    """How many keys each worker has."""
    aside: npt.NDArray[np.bool_]
    """Workers without keys that do not count for the smallest loads; for `readj`."""
    extreme: npt.NDArray[np.bool_]
    """Workers whose load is the largest or the smallest of a resource: the penalty is theirs."""


class Assignment(NamedTuple):
    """The keys to map, heaviest first, and what it costs to move them."""

    shares: Loads
    old: npt.NDArray[np.int64]
    """The worker that each key is on; perhaps one that is gone."""
    fallback: npt.NDArray[np.int64]
    """The worker that each key would have on the new ring."""
    moving: Loads
    """What it costs to move each key."""
    spent: float
    """What is moved already: keys that are tracked no more and go elsewhere on the ring."""
    state: float
    """What it would cost to move all keys that are tracked now, or were before."""


def new_board(costs: Loads, slowness: Loads, thetas: Loads) -> Board:
    """Return a board without a key on it."""
    rows = len(costs)
    board = Board(
        costs=np.ascontiguousarray(costs),
        slowness=np.ascontiguousarray(slowness),
        thetas=np.ascontiguousarray(thetas),
        loads=np.zeros((rows, len(slowness))),
        totals=np.zeros(rows),
        highs=np.zeros((rows, 3)),
        high_at=np.zeros((rows, 3), np.int64),
        lows=np.zeros((rows, 3)),
        low_at=np.zeros((rows, 3), np.int64),
        held=np.zeros(len(slowness), np.int64),
        aside=np.zeros(len(slowness), np.bool_),
        extreme=np.zeros(len(slowness), np.bool_),
    )
    rank_loads(board)
    return board


def utility_number(name: str) -> int:
    """Return the number of a utility function, by which kernels know it."""
    if name not in UTILITIES:
        raise UnknownNameError("utility function", name, UTILITIES)
    return UTILITIES.index(name)


@kernel
def migration_penalty(keys: Assignment, spent: float, n: int) -> float:
    """Return what is moved over what it takes to give one of n workers its part (eq. 18)."""
    return spent / (keys.state / n) if keys.state > 0.0 else 0.0


@kernel
def utility(number: int, rho: float, gamma: float) -> float:
    """Return the utility of a mapping; lower is better (sec. 4.3)."""
    if number == _APM:
        return rho + gamma
    if number == _APLM:
        return rho + math.log(1.0 + gamma)
    if number == _ATM:
        return rho * (1.0 + gamma)
    if number == _ATLM:
        return rho * (1.0 + math.log(1.0 + gamma))
    return rho


@kernel
def rank_loads(board: Board) -> None:
    """Find the extremes of the loads anew: O(N), once for a key that is placed or moved."""
    board.extreme[:] = False
    for k in range(board.loads.shape[0]):
        for rank in range(3):
            board.highs[k, rank], board.high_at[k, rank] = -np.inf, -1
            board.lows[k, rank], board.low_at[k, rank] = np.inf, -1
        for worker in range(board.loads.shape[1]):
            load = board.loads[k, worker]
            _enter(board.highs, board.high_at, k, load, worker, 1.0)
            if not board.aside[worker]:
                _enter(board.lows, board.low_at, k, load, worker, -1.0)
        board.extreme[board.high_at[k, 0]] = True
        board.extreme[board.low_at[k, 0]] = True


@inlined
def _enter(
    best: Loads, owners: npt.NDArray[np.int64], k: int, load: float, worker: int, sign: float
) -> None:
    """Put a load among the best three, if it belongs there."""
    rank = 3
    while rank > 0 and sign * load > sign * best[k, rank - 1]:
        rank -= 1
    for later in range(2, rank, -1):
        best[k, later], owners[k, later] = best[k, later - 1], owners[k, later - 1]
    if rank < 3:
        best[k, rank], owners[k, rank] = load, worker


@inlined
def _best_without(
    best: Loads, owners: npt.NDArray[np.int64], k: int, one: int, other: int
) -> float:
    """Return the best load of all workers but two."""
    rank = 0
    while rank < 2 and (owners[k, rank] == one or owners[k, rank] == other):
        rank += 1
    load: float = best[k, rank]
    return load


@kernel
def geometric_mean(product: float, count: int) -> float:
    """Return the mean of ``count`` factors from their product (eq. 20)."""
    if count == 1:
        return product
    if count == 2:
        return math.sqrt(product)
    return math.pow(product, 1.0 / count)


@inlined
def _penalty(highest: float, lowest: float, theta: float, total: float, n: int) -> float:
    """Return the balance penalty of one resource (eq. 19); none where nothing costs anything."""
    return (highest - lowest) / (theta * (total / n)) if total > 0.0 else 0.0


@kernel
def balance_penalty(board: Board) -> float:
    """Return the balance penalty of the board as it is (eq. 19 - 20)."""
    rows, n = board.loads.shape
    product = 1.0
    for k in range(rows):
        high, low = board.highs[k, 0], board.lows[k, 0]
        product *= _penalty(high, low, board.thetas[k], board.totals[k], n)
    return geometric_mean(product, rows)


@kernel
def penalty_with(board: Board, key: int, worker: int) -> float:
    """Return the balance penalty if one more key went to a worker."""
    rows, n = board.loads.shape
    product = 1.0
    for k in range(rows):
        cost = board.costs[k, key]
        load = board.loads[k, worker] + cost * board.slowness[worker]
        high = max(board.highs[k, 0], load)
        low = min(board.lows[k, 1 if board.low_at[k, 0] == worker else 0], load)
        product *= _penalty(high, low, board.thetas[k], board.totals[k] + cost, n)
    return geometric_mean(product, rows)


@kernel
def penalty_after(board: Board, key: int, origin: int, target: int, back: int) -> float:
    """Return the balance penalty if a key moved, and key ``back``, unless -1, came in return."""
    rows, n = board.loads.shape
    product = 1.0
    for k in range(rows):
        moved = board.costs[k, key] - (board.costs[k, back] if back >= 0 else 0.0)
        left = board.loads[k, origin] - moved * board.slowness[origin]
        reached = board.loads[k, target] + moved * board.slowness[target]
        high = _best_without(board.highs, board.high_at, k, origin, target)
        low = _best_without(board.lows, board.low_at, k, origin, target)
        high, low = max(high, left, reached), min(low, left, reached)
        product *= _penalty(high, low, board.thetas[k], board.totals[k], n)
    return geometric_mean(product, rows)


@kernel
def place(board: Board, key: int, worker: int) -> None:
    """Put a key on the board; ``rank_loads`` is due then."""
    board.held[worker] += 1
    for k in range(board.loads.shape[0]):
        board.loads[k, worker] += board.costs[k, key] * board.slowness[worker]
        board.totals[k] += board.costs[k, key]


@kernel
def place_all(board: Board, mapped: npt.NDArray[np.int64]) -> None:
    """Put all keys on an empty board, each on its worker."""
    for key in range(mapped.shape[0]):
        place(board, key, mapped[key])
    rank_loads(board)


@kernel
def shift(board: Board, key: int, origin: int, target: int) -> None:
    """Move a key from a worker to another; ``rank_loads`` is due then."""
    board.held[origin] -= 1
    board.held[target] += 1
    for k in range(board.loads.shape[0]):
        board.loads[k, origin] -= board.costs[k, key] * board.slowness[origin]
        board.loads[k, target] += board.costs[k, key] * board.slowness[target]
