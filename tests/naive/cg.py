"""Consistent Grouping (CG 5.2, 5.3): virtual workers, two queues, one pair at a time.

Deviations: of a busy worker's virtual workers the one moves that moved last (of those that never
did, the first); a worker keeps its last one; signals of one moment are taken in the order of the
workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from fractions import Fraction

from .groupings import NaiveRouter


class ConsistentGrouping:
    """``inner`` routes onto virtual workers; ``owners`` has the worker of each."""

    def __init__(
        self, inner: NaiveRouter, capacities: Sequence[int], t_0: float, probe: bool = False
    ) -> None:
        self.inner = inner
        self.n = len(capacities)
        self.t_0 = t_0
        self.probe = probe
        self.owners = dealt(apportioned(inner.n, capacities))
        self.last_moved: list[int] = []
        self.busy: deque[int] = deque()
        self.idle: deque[int] = deque()
        self.heeded: dict[int, float] = {}
        self.said_busy: dict[int, float] = {}

    def route(self, hashes: Sequence[int], weights: Sequence[float] | None = None) -> list[int]:
        """Route onto virtual workers, and on to whoever owns them now."""
        return [self.owners[virtual] for virtual in self.inner.route(hashes, weights)]

    def observe(self, signals: Sequence[int], now: float) -> None:
        """Queue the workers that signal, unless their time slot still runs; then pair."""
        for worker, signal in enumerate(signals):
            if signal == 0 or now < self.heeded.get(worker, float("-inf")) + self.t_0:
                continue
            self.heeded[worker] = now
            if signal > 0:
                self.said_busy[worker] = now
            own, other = (self.busy, self.idle) if signal > 0 else (self.idle, self.busy)
            if worker in other:
                other.remove(worker)
            if worker not in own:
                own.append(worker)
        for worker in list(self.busy):
            if self.owners.count(worker) == 1:
                self.busy.remove(worker)
        while self.busy and self.idle:
            giver, taker = self.busy.popleft(), self.idle.popleft()
            self.move(self.to_give(giver), taker)
        if self.probe:
            self.probe_others(now)

    def probe_others(self, now: float) -> None:
        """CG 6.1.2: give to those that have not said that they are busy, not in the last slot."""
        others = [
            worker
            for worker in range(self.n)
            if worker not in self.busy and now >= self.busy_until(worker)
        ]
        while self.busy and others:
            giver = self.busy.popleft()
            taker = min(others, key=lambda w: (self.busy_until(w), self.last_taken(w)))
            self.move(self.to_give(giver), taker)

    def busy_until(self, worker: int) -> float:
        """Return when a slot has passed since the worker said that it is busy."""
        return self.said_busy[worker] + self.t_0 if worker in self.said_busy else 0.0

    def last_taken(self, worker: int) -> int:
        """Return which move last gave the worker what it still has; 0 for none."""
        moves = [i for i, v in enumerate(self.last_moved, 1) if self.owners[v] == worker]
        latest = [i for i in moves if self.last_moved[i - 1] not in self.last_moved[i:]]
        return max(latest, default=0)

    def to_give(self, giver: int) -> int:
        """Return the virtual worker that moved last."""
        has = [virtual for virtual, owner in enumerate(self.owners) if owner == giver]
        wandered = [virtual for virtual in self.last_moved if virtual in has]
        return wandered[-1] if wandered else has[0]

    def move(self, virtual: int, to: int) -> None:
        """Change the owner; nothing that was routed is looked at again."""
        self.owners[virtual] = to
        self.last_moved.append(virtual)


def apportioned(units: int, capacities: Sequence[int]) -> list[int]:
    """Share units out by capacity, at least one each, by largest remainder.

    >>> apportioned(10, [11, 5, 4])
    [6, 2, 2]
    >>> apportioned(4, [100, 1, 1])
    [2, 1, 1]
    """
    ones: set[int] = set()
    while True:
        rest = sum(c for w, c in enumerate(capacities) if w not in ones)
        quotas = [
            Fraction(1) if w in ones else Fraction(c * (units - len(ones)), rest)
            for w, c in enumerate(capacities)
        ]
        if min(quotas) >= 1:
            break
        ones |= {w for w, quota in enumerate(quotas) if quota < 1}
    counts = [int(quota) for quota in quotas]
    by_remainder = sorted(range(len(counts)), key=lambda w: counts[w] - quotas[w])
    for worker in by_remainder[: units - sum(counts)]:
        counts[worker] += 1
    return counts


def dealt(counts: Sequence[int]) -> list[int]:
    """Deal virtual workers out so that each worker's are spread evenly over all of them.

    >>> dealt([2, 1, 2])
    [0, 2, 1, 0, 2]
    """
    places = [
        (Fraction(2 * i + 1, 2 * count), worker)
        for worker, count in enumerate(counts)
        for i in range(count)
    ]
    return [worker for _, worker in sorted(places)]
