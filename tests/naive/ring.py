"""The ring of consistent hashing as a sorted list (Gedik 4.1.1: replicas of a node on a circle).

A worker has ``points`` times its capacity points, at least one. The i-th point of a worker follows
from the worker, i and the seed alone, so what other workers there are does not matter. Workers and
keys are hashed apart, as FISH 5 does not: it would put key 0 on a point of worker 0.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from .mix import GOLDEN, mix, spread

POINT = mix(0x52494E47)


def points_of(worker: int, capacity: float, points: int, seed: int) -> list[int]:
    """Where a worker stands on the circle of 64-bit words."""
    own = spread(worker + POINT, seed)
    return [mix(own + i * GOLDEN) for i in range(max(1, round(points * capacity)))]


class Ring:
    """Points in order with their workers; of equal points the lowest worker's counts."""

    def __init__(
        self,
        workers: Sequence[int],
        capacities: Sequence[float] | None = None,
        points: int = 100,
        seed: int = 0,
    ) -> None:
        speeds = [1.0] * len(workers) if capacities is None else capacities
        self.seed = seed
        self.circle = sorted(
            (point, worker)
            for worker, speed in zip(workers, speeds, strict=True)
            for point in points_of(worker, speed, points, seed)
        )

    def clockwise(self, h: int) -> list[int]:
        """Return the workers of all points, from the first at or behind the key on."""
        at = bisect_left(self.circle, (spread(h, self.seed), -1))
        return [worker for _, worker in self.circle[at:] + self.circle[:at]]

    def lookup(self, h: int) -> int:
        return self.clockwise(h)[0]
