"""The least busy of the first d workers clockwise from a key, for many d and often.

Two candidates are looked at where they lie on the ring. Where a key has more, they are listed once.
The lists lie one behind the other in a store of fixed size; when it is full all are dropped, and
made anew as they are asked for.

While all waiting times are whole, many are equal: for each list it is remembered how far the
candidates of the least time are used up, so that a hot key passes a candidate about twice for each
time that the least rises. Otherwise the whole list is looked through, which costs O(d).

All of this is a cache: without it the answers are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unskew._kernel import inlined, kernel
from unskew.hashing.ring import Circle, point_of
from unskew.sketch.least import Order
from unskew.typing import Loads

_STORED_PER_WORKER = 16  # at theta = 1 / (4 n) the hot keys of a Zipf stream have 3 n to 9 n
_STORED_PER_KEY = 16
_UNKNOWN = -1.0

Places = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


class Lists(NamedTuple):
    """The candidates listed so far; ``start`` to ``cursor`` by the counter of the key."""

    start: Numbers
    length: Numbers
    """How many candidates are listed; 0 if there is no list."""
    level: Loads
    """The least time that any of them waits, when last looked at."""
    cursor: Numbers
    """How far those that wait so long are used up."""
    store: Places
    used: Numbers
    passed: Numbers
    """By worker, in which walk it was last passed; behind them, the number of this walk."""


def new_lists(n_workers: int, counters: int) -> Lists:
    """Return room for lists, and none yet."""
    return Lists(
        start=np.zeros(counters, np.int64),
        length=np.zeros(counters, np.int64),
        level=np.full(counters, _UNKNOWN),
        cursor=np.zeros(counters, np.int64),
        store=np.zeros(_STORED_PER_WORKER * n_workers + _STORED_PER_KEY * counters, np.int32),
        used=np.zeros(1, np.int64),
        passed=np.zeros(n_workers + 1, np.int64),
    )


def forget_levels(lists: Lists) -> None:
    """Start over, after waiting times changed otherwise than by growing, and may be whole."""
    lists.level[:] = _UNKNOWN


@inlined
def less_busy_of_two(
    circle: Circle, position: np.uint64, turn: np.int64, waiting: Loads
) -> np.int64:
    """Return which of the first two workers waits less, as an index turned by ``turn``."""
    return _of_two(
        point_of(position, circle.points, circle.first, circle.shift), circle.owners, turn, waiting
    )


@inlined
def least_busy(
    lists: Lists, circle: Circle, position: np.uint64, turn: np.int64, d: np.int64,
    slot: np.int64, waiting: Loads, order: Order,
) -> np.int64:  # fmt: skip
    """Return which of the first d workers waits least; of equals the first clockwise.

    ``slot`` is the counter of the key, ``order`` what is known of the waiting times of all.
    """
    if lists.length[slot] != d:
        if lists.used[0] + d > lists.store.shape[0]:
            lists.length[:] = 0
            lists.used[0] = 0
        lists.start[slot] = lists.used[0]
        lists.length[slot] = d
        lists.level[slot] = _UNKNOWN
        lists.used[0] += d
        at = point_of(position, circle.points, circle.first, circle.shift)
        _list(at, circle.owners, turn, d, lists.start[slot], lists.store, lists.passed)
    lowest = order.value[0] if order.whole[0] else _UNKNOWN
    return _least_of_listed(
        lists.start[slot], d, lists.store, waiting, lowest, slot, lists.level, lists.cursor
    )


@kernel
def _turned(owner: np.int32, turn: np.int64, n: int) -> np.int64:
    worker = np.int64(owner) - turn
    return worker + n if worker < 0 else worker


@kernel
def _of_two(at: np.int64, owners: Places, turn: np.int64, waiting: Loads) -> np.int64:
    last = owners.shape[0] - 1  # stands for the first point
    behind = at
    while owners[behind] == owners[at]:
        behind = behind + 1 if behind < last else np.int64(0)
    n = waiting.shape[0]
    first, second = _turned(owners[at], turn, n), _turned(owners[behind], turn, n)
    return second if waiting[second] < waiting[first] else first


@kernel
def _list(
    at: np.int64, owners: Places, turn: np.int64, d: np.int64, start: np.int64, store: Places,
    passed: Numbers,
) -> None:  # fmt: skip
    """List the first d workers from a point on."""
    last, n = owners.shape[0] - 1, passed.shape[0] - 1
    passed[n] += 1
    found = 0
    while found < d:
        owner = owners[at]
        if passed[owner] != passed[n]:
            passed[owner] = passed[n]
            store[start + found] = _turned(owner, turn, n)
            found += 1
        at = at + 1 if at < last else np.int64(0)


@kernel
def _least_of_listed(
    start: np.int64, d: np.int64, store: Places, waiting: Loads, lowest: float, slot: np.int64,
    level: Loads, cursor: Numbers,
) -> np.int64:  # fmt: skip
    """Return the first of those that wait least; ``lowest`` is a bound on all, if known."""
    if lowest >= 0.0 and level[slot] >= lowest:
        for at in range(cursor[slot], d):
            worker = store[start + at]
            if waiting[worker] == level[slot]:  # nobody can have come to wait less
                cursor[slot] = at
                return np.int64(worker)
    chosen = np.int64(store[start])
    level[slot], cursor[slot] = waiting[chosen], 0
    for at in range(1, d):
        if level[slot] == lowest:
            break
        worker = store[start + at]
        if waiting[worker] < level[slot]:
            chosen = np.int64(worker)
            level[slot], cursor[slot] = waiting[worker], at
    return chosen
