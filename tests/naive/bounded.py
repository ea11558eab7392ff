"""Consistent hashing with bounded loads (CG 4.2) and PoRC (CG 5.1), from the start at every tuple.

Both set a worker's capacity to the ceiling of (1 + epsilon) times the average load, the tuple being
placed included, and take the first worker with spare capacity. For weights other than 1 a worker
has spare capacity while it is below (1 + epsilon) times the average. If none has, which takes
weights that are all 0 so far, the first one takes the tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from .groupings import NaiveRouter
from .mix import candidates
from .ring import Ring


class WithRoom(NaiveRouter):
    """The first worker with spare capacity of those that ``sequence`` names."""

    def __init__(self, n: int, epsilon: float, capacities: Sequence[float] | None = None) -> None:
        super().__init__(n)
        self.epsilon = epsilon
        self.speeds = [1.0] * n if capacities is None else capacities
        self.total = 0.0
        self.whole = True

    def choose(self, h: int, weight: float, /) -> int:
        bound = (1 + self.epsilon) * (self.total + weight) / sum(self.speeds)
        self.total += weight
        self.whole = self.whole and weight == 1 and set(self.speeds) == {1.0}
        workers = list(self.sequence(h))
        for worker in workers:
            if self.whole:
                has_room = self.loads[worker] + 1 <= ceil(bound)
            else:
                has_room = self.loads[worker] / self.speeds[worker] < bound
            if has_room:
                return worker
        return workers[0]

    def sequence(self, h: int, /) -> Iterable[int]:
        """The workers in the order in which a tuple of this key looks at them."""
        raise NotImplementedError


class BoundedLoads(WithRoom):
    """CG 4.2: clockwise from the key."""

    def __init__(
        self,
        n: int,
        seed: int = 0,
        epsilon: float = 0.01,
        points: int = 100,
        capacities: Sequence[float] | None = None,
    ) -> None:
        super().__init__(n, epsilon, capacities)
        self.ring = Ring(range(n), capacities, points, seed)

    def sequence(self, h: int, /) -> Iterable[int]:
        return self.ring.clockwise(h)


class PowerOfRandomChoices(WithRoom):
    """CG 5.1: H_1, H_2, ... of the key (distinct here)."""

    def __init__(self, n: int, seed: int = 0, epsilon: float = 0.01) -> None:
        super().__init__(n, epsilon)
        self.seed = seed

    def sequence(self, h: int, /) -> Iterable[int]:
        return candidates(h, self.n, self.seed, self.n)
