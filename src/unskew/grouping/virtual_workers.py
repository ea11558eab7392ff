"""Virtual workers: who owns them, and how they move from busy workers to idle ones.

CG sec. 5.2.1 and 5.3. A worker says one of two things, that it is busy or that it is idle, and
waits for a time slot before it says anything again. Who said so waits in one of two queues, first
come first served. A busy worker loses a virtual worker only at the moment at which an idle one
takes it (pairing), so their number never changes. A worker that speaks up again keeps its place;
one that says the opposite leaves the one queue for the other.

What CG leaves open:

- Which virtual worker moves: the one that moved last, so that the same few wander and the others
  stay where their keys are.
- A worker never gives away its last virtual worker: its signals come with the answers to the
  tuples it gets, so nothing more would be heard of it. CG sec. 6.1 takes it for granted that every
  worker is able to carry one.

As long as all workers together are used no more than the threshold of the idle, somebody is idle
while anybody is busy, and pairing goes on until nobody is. Above it, all but the slowest workers
may be neither, and nobody takes what those have too much. CG sec. 6.1.2 then lets the sources
probe: with ``probe`` a busy worker for whom no idle one waits gives to the worker that has not said
for longest that it is busy (of equals, the one that got a virtual worker longest ago), unless it
said so within the last slot: where all workers are busy nothing moves.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from unskew.errors import SnapshotMismatchError
from unskew.grouping.apportion import Counts, apportion
from unskew.grouping.elastic import carried
from unskew.typing import AnyArray, Loads

BUSY, IDLE = 1, -1


class VirtualWorkers:
    """The virtual workers of one router, as arrays that a snapshot can carry.

    - ``owners``: the worker of each virtual worker;
    - ``moved``: the number of the move that brought it there, 0 for none;
    - ``busy``, ``idle``: the place of each worker in the queue, 0 if it is not in it;
    - ``heard_from``: the time from which on a worker is heard again;
    - ``busy_until``: the time until which it counts as busy, a slot from when it last said so.
    """

    def __init__(self, n_virtual: int, shares: Loads) -> None:
        n_workers = len(shares)
        self.arrays: dict[str, AnyArray] = {
            "owners": _dealt(apportion(n_virtual, shares)),
            "moved": np.zeros(n_virtual, np.int64),
            "busy": np.zeros(n_workers, np.int64),
            "idle": np.zeros(n_workers, np.int64),
            "heard_from": np.zeros(n_workers),
            "busy_until": np.zeros(n_workers),
        }

    @property
    def owners(self) -> AnyArray:
        """The worker of each virtual worker."""
        return self.arrays["owners"]

    def counts(self) -> Counts:
        """Return how many virtual workers each worker owns."""
        return np.bincount(self.owners, minlength=len(self.arrays["busy"]))

    def check(self, arrays: dict[str, AnyArray]) -> None:
        """Refuse arrays of the right shape that no virtual workers can have."""
        owners, n_workers = arrays["owners"], len(self.arrays["busy"])
        if owners.max() >= n_workers:
            raise SnapshotMismatchError("largest owner", int(owners.max()), n_workers - 1)
        if np.bincount(owners, minlength=n_workers).min() == 0:
            raise SnapshotMismatchError("least number of virtual workers", 0, 1)
        torn = np.flatnonzero((arrays["busy"] > 0) & (arrays["idle"] > 0))
        if torn.size:
            raise SnapshotMismatchError("worker in both queues", int(torn[0]), None)

    def hear(self, signals: AnyArray, now: float, slot: float, *, probe: bool) -> None:
        """Take in what the workers say at one moment, and pair those that wait."""
        heard = (signals != 0) & (self.arrays["heard_from"] <= now)
        for worker in np.flatnonzero(heard):
            own, other = ("busy", "idle") if signals[worker] == BUSY else ("idle", "busy")
            self.arrays[other][worker] = 0
            if self.arrays[own][worker] == 0:
                self.arrays[own][worker] = self.arrays[own].max() + 1
        self.arrays["heard_from"][heard] = now + slot
        self.arrays["busy_until"][heard & (signals == BUSY)] = now + slot
        # Who has one virtual worker cannot give, and need not wait.
        self.arrays["busy"][self.counts() == 1] = 0
        self._pair()
        if probe:
            self._probe(now)

    def resized(self, before: Loads, after: Loads) -> Self:
        """Return virtual workers for other workers, with the fewest that have to move.

        Shares that were stated ``before`` and are not changed by what is stated ``after`` leave the
        workers that stay in the proportions that their signals have brought about. The queues
        start empty: what was said was said of other loads.
        """
        stay = min(len(before), len(after))
        held = carried(self.counts(), len(after), 0)
        wanted = after.copy()
        if np.allclose(before[:stay] / before[:stay].sum(), after[:stay] / after[:stay].sum()):
            wanted[:stay] = held[:stay] / held[:stay].sum() * after[:stay].sum()
        other = type(self)(len(self.owners), after)
        for name in ("heard_from", "busy_until"):
            other.arrays[name] = carried(self.arrays[name], len(after), 0.0)
        other.arrays["moved"][:] = self.arrays["moved"]
        other.arrays["owners"][:] = self.owners
        other._move_to(apportion(len(self.owners), wanted, held), held)
        return other

    def _pair(self) -> None:
        busy, idle = self.arrays["busy"], self.arrays["idle"]
        while busy.any() and idle.any():
            giver, taker = _next(busy), _next(idle)
            self._give(giver, taker)
            busy[giver] = idle[taker] = 0

    def _probe(self, now: float) -> None:
        busy, busy_until = self.arrays["busy"], self.arrays["busy_until"]
        able = np.flatnonzero((busy == 0) & (busy_until <= now))
        while busy.any() and able.size:
            got = np.zeros(len(busy), np.int64)
            np.maximum.at(got, self.owners, self.arrays["moved"])
            giver, taker = _next(busy), able[np.lexsort((got[able], busy_until[able]))[0]]
            self._give(giver, taker)
            busy[giver] = 0

    def _give(self, giver: int, taker: int) -> None:
        moved = self.arrays["moved"]
        given = np.where(self.owners == giver, moved, -1).argmax()
        self.owners[given] = taker
        moved[given] = moved.max() + 1

    def _move_to(self, wanted: Counts, held: Counts) -> None:
        """Move virtual workers until each worker has as many as wanted; the last to move first."""
        moved, numbers = self.arrays["moved"], np.arange(len(self.owners))
        by_owner = np.lexsort((-numbers, moved, self.owners))
        first = np.searchsorted(self.owners[by_owner], np.arange(self.owners.max() + 1))
        rank = numbers - first[self.owners[by_owner]]
        limits = carried(wanted, len(first), 0)
        leaving = np.sort(by_owner[rank >= limits[self.owners[by_owner]]])
        takers = np.repeat(np.arange(len(wanted)), np.maximum(wanted - held, 0))
        self.owners[leaving] = takers
        if leaving.size:
            moved[leaving] = moved.max() + 1


def _next(queue: AnyArray) -> int:
    """Return who has waited longest in a queue that is not empty."""
    waiting = np.flatnonzero(queue)
    return int(waiting[queue[waiting].argmin()])


def _dealt(counts: Counts) -> AnyArray:
    """Return owners of virtual workers in turn, so that neighbours belong to different workers."""
    owners = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    place = (np.arange(len(owners)) - starts + 0.5) / np.repeat(counts, counts)
    return owners[np.lexsort((owners, place))]
