"""Per-tuple routers of 2CNE and CG, one decision at a time.

Loads are local to the source (2CNE III-B) and weighted; a tie keeps the candidate that comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from .mix import candidates, spread
from .space_saving import SpaceSaving


class NaiveRouter:
    """Routes tuple by tuple; a scheme says in ``choose`` which worker takes the next one."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.loads = [0.0] * n

    def route(self, hashes: Sequence[int], weights: Sequence[float] | None = None) -> list[int]:
        """Return the worker of each tuple and advance the loads, in arrival order."""
        if weights is None:
            weights = [1.0] * len(hashes)
        workers = []
        for h, weight in zip(hashes, weights, strict=True):
            worker = self.choose(h, weight)
            self.loads[worker] += weight
            workers.append(worker)
        return workers

    def choose(self, h: int, weight: float, /) -> int:
        """Pick the worker of the next tuple, from the loads before it."""
        raise NotImplementedError

    def least_loaded(self, workers: Sequence[int]) -> int:
        """MINLOAD of 2CNE Alg. 1; ``min`` keeps the first of equals."""
        return min(workers, key=lambda w: self.loads[w])


class KeyGrouping(NaiveRouter):
    """KG (2CNE II-B): the first candidate."""

    def __init__(self, n: int, seed: int = 0) -> None:
        super().__init__(n)
        self.seed = seed

    def choose(self, h: int, _weight: float, /) -> int:
        return candidates(h, 1, self.seed, self.n)[0]


class ShuffleGrouping(NaiveRouter):
    """SG (2CNE II-B): round robin."""

    def __init__(self, n: int, start: int = 0) -> None:
        super().__init__(n)
        self.next = start % n

    def choose(self, _h: int, _weight: float, /) -> int:
        worker = self.next
        self.next = (worker + 1) % self.n
        return worker


class TwoChoices(NaiveRouter):
    """PoTC (CG 4.3, 6.1.1): the less loaded of two workers drawn by tuple index, not by key.

    Deviation: the two are distinct workers, and a tuple loads its worker by its weight, where
    CG 4.3 counts messages.
    """

    def __init__(self, n: int, seed: int = 0, source: int = 0) -> None:
        super().__init__(n)
        self.seed = seed
        self.source = source
        self.tuples = 0

    def choose(self, _h: int, _weight: float, /) -> int:
        drawn = spread(self.tuples, self.source)
        self.tuples += 1
        return self.least_loaded(candidates(drawn, min(2, self.n), self.seed, self.n))


class PartialKeyGrouping(NaiveRouter):
    """PKG (2CNE II-B): the less loaded of the key's first two candidates (distinct here)."""

    def __init__(self, n: int, seed: int = 0) -> None:
        super().__init__(n)
        self.seed = seed

    def choose(self, h: int, _weight: float, /) -> int:
        return self.least_loaded(candidates(h, min(2, self.n), self.seed, self.n))


class HeadRouter(PartialKeyGrouping):
    """2CNE Alg. 1: the sketch sees the tuple first; then ``choose_head``, or PKG for the tail."""

    def __init__(
        self,
        n: int,
        seed: int = 0,
        theta: float | None = None,
        capacity: int | None = None,
        start: int = 0,
    ) -> None:
        super().__init__(n, seed)
        self.theta = 1 / (5 * n) if theta is None else theta  # the conservative end of 2CNE III-A
        self.sketch = SpaceSaving(ceil(2 / self.theta) if capacity is None else capacity)
        self.start = start

    def choose(self, h: int, weight: float, /) -> int:
        self.sketch.update(h, weight)
        self.before_routing(h)
        if h in self.sketch.heavy(self.theta):
            return self.choose_head(h)
        return super().choose(h, weight)

    def before_routing(self, _h: int, /) -> None:
        """Hook between the update of the sketch and the choice."""

    def choose_head(self, h: int, /) -> int:
        """Pick the worker of a tuple of a head key."""
        raise NotImplementedError

    def least_loaded_of_all(self) -> int:
        """The least loaded worker; of equals the first from ``start`` on."""
        return self.least_loaded([(self.start + i) % self.n for i in range(self.n)])


class WChoices(HeadRouter):
    """W-Choices (2CNE III-B): a head key may go to any worker."""

    def choose_head(self, _h: int, /) -> int:
        return self.least_loaded_of_all()


class RoundRobin(HeadRouter):
    """Round-Robin (2CNE III-B): the head goes round, blind to loads; the tail sees all loads."""

    turn = 0

    def choose_head(self, _h: int, /) -> int:
        worker = (self.start + self.turn) % self.n
        self.turn += 1
        return worker


class DChoices(HeadRouter):
    """D-Choices (2CNE III-B, IV-A): d candidates for head keys; from d = n on, W-Choices' rule.

    Deviation from Alg. 1, which solves for d at every head tuple: d is solved on a schedule, and
    when a head key's share needs a quarter more workers than d.
    """

    def __init__(
        self,
        n: int,
        seed: int = 0,
        theta: float | None = None,
        capacity: int | None = None,
        epsilon: float = 1e-4,
        start: int = 0,
        distinct: bool = True,
    ) -> None:
        super().__init__(n, seed, theta, capacity, start)
        self.epsilon = epsilon
        self.distinct = distinct
        self.d = 2
        self.seen = 0
        self.next_solve = 1

    def before_routing(self, h: int, /) -> None:
        self.seen += 1
        outgrown = (
            h in self.sketch.heavy(self.theta)
            and self.sketch.count(h) > 1.25 * self.d / self.n * self.sketch.total
        )
        if outgrown or self.seen >= self.next_solve:
            self.d = self.solve_now()
            self.next_solve = self.seen + max(self.n, self.seen // self.n)

    def solve_now(self) -> int:
        """Solve for d from the sketch as it is."""
        head = [self.sketch.count(key) for key in self.sketch.heavy(self.theta)]
        frequencies = sorted((count / self.sketch.total for count in head), reverse=True)
        tail_mass = max(0.0, 1 - sum(frequencies))
        return solve(frequencies, tail_mass, self.n, self.epsilon, self.distinct)

    def choose_head(self, h: int, /) -> int:
        if self.d >= self.n:
            return self.least_loaded_of_all()
        return self.least_loaded(candidates(h, self.d, self.seed, self.n))


def solve(
    frequencies: Sequence[float], tail_mass: float, n: int, epsilon: float, distinct: bool
) -> int:
    """FINDOPTIMALCHOICES (2CNE IV-A): the smallest d that meets Prop. 4.1 for all prefixes.

    ``frequencies`` are those of the head, descending. From d = n on the answer is n.

    >>> solve([], 1.0, 10, 1e-4, True)
    2
    >>> solve([0.3], 0.7, 100, 1e-4, True)  # 0.3 + 0.7 x**2 <= 1.01 x, x = d / n: x >= 0.4183
    42
    >>> solve([0.9], 0.1, 10, 1e-4, True)
    10
    """
    if not frequencies:
        return 2
    d = max(2, ceil(frequencies[0] * n - 1e-9))  # forgive rounding in p1 * n
    while d < n and slack(frequencies, tail_mass, n, epsilon, distinct, d) < 0:
        d += 1
    return min(d, n)


def slack(
    frequencies: Sequence[float], tail_mass: float, n: int, epsilon: float, distinct: bool, d: int
) -> float:
    """How far inside Prop. 4.1 (2CNE eq. 3) the tightest prefix is for d < n; negative: violated.

    A test that compares ``solve`` with a kernel should set aside inputs whose slack is about 0:
    there the order of summation decides.
    """
    worst = float("inf")
    for h in range(1, len(frequencies) + 1):
        b = n * (1 - (1 - d / n) ** h) if distinct else n - n * ((n - 1) / n) ** (h * d)  # eq. 10
        prefix = sum(frequencies[:h])
        rest = sum(frequencies[h:])
        lower_bound = prefix + (b / n) ** d * rest + (b / n) ** 2 * tail_mass
        worst = min(worst, b * (1 / n + epsilon) - lower_bound)
    return worst
