"""FISH (sec. 4, 5), one tuple at a time: Alg. 1 to 3 over a sorted list of points.

Deviations (papers/README.md, docs/groupings.md): a key is hot by what it surely had before this
tuple; M_k goes with the counter of its key; d_min is n times the share of the average hot key; a
tuple counts once in C_w; what is taken off is the time that has passed, and nothing before the
service times are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .decayed import DecayedSpaceSaving
from .ring import Ring


class Fish:
    """``start`` is the worker that this source prefers among equals."""

    def __init__(
        self,
        n: int,
        seed: int = 0,
        capacities: Sequence[float] | None = None,
        points: int = 100,
        theta: float | None = None,
        epoch: int = 1000,
        decay: float = 0.2,
        counters: int = 1000,
        min_choices: int | None = None,
        interval: float = 10.0,
        start: int = 0,
    ) -> None:
        self.n = n
        self.theta = 1 / (4 * n) if theta is None else theta
        self.min_choices = min_choices
        self.interval = interval
        self.start = start
        self.sketch = DecayedSpaceSaving(counters, epoch, decay)
        self.ring = Ring(range(n), capacities, points, seed)
        self.backlog = [0.0] * n
        self.service = [1.0] * n if capacities is None else [1 / speed for speed in capacities]
        self.observed = False
        self.t_pri: float | None = None
        self.d_min = 2 if min_choices is None else min(min_choices, n)
        self.m: dict[int, int] = {}

    def route(
        self,
        hashes: Sequence[int],
        weights: Sequence[float] | None = None,
        times: Sequence[float] | None = None,
    ) -> list[int]:
        """Return the worker of each tuple, in order of arrival."""
        workers = []
        for i, h in enumerate(hashes):
            if times is not None:
                self.pass_time(times[i])
            workers.append(self.assign(h, 1.0 if weights is None else weights[i]))
        return workers

    def observe(self, service_times: Sequence[float], now: float | None = None) -> None:
        """Take P_w from a sample (4.2.1)."""
        self.service = list(service_times)
        self.observed = True
        if now is not None:
            self.pass_time(now)

    def pass_time(self, now: float) -> None:
        """Alg. 3, lines 3 to 11; eq. 1."""
        if self.t_pri is None:
            self.t_pri = now
        elapsed = now - self.t_pri
        if self.observed and elapsed > self.interval:
            for w in range(self.n):
                left = max(0.0, self.backlog[w] * self.service[w] - elapsed)
                self.backlog[w] = left / self.service[w]
            self.t_pri = now

    def assign(self, h: int, weight: float) -> int:
        """Alg. 3, lines 12 to 19."""
        d = self.count_and_classify(h, weight)
        candidates = list(dict.fromkeys(self.ring.clockwise(h)))[:d]
        if d == self.n > 2:  # any worker will do
            candidates = [(self.start + i) % self.n for i in range(self.n)]
        appro = min(candidates, key=lambda w: self.backlog[w] * self.service[w])
        self.backlog[appro] += weight
        return appro

    def count_and_classify(self, h: int, weight: float) -> int:
        """Alg. 1, and of what it says Alg. 2."""
        if self.sketch.counter == self.sketch.epoch:
            self.find_d_min()
        known = h in self.sketch.keys
        self.sketch.update(h, weight)
        self.m = {key: d for key, d in self.m.items() if key in self.sketch.keys}
        if not known and weight == 0:
            return 2
        count, error = self.sketch.tracked()[h]
        if not count - error - weight > self.theta * self.sketch.total:
            return 2
        ratio = Fraction(max(self.sketch.counts)) / Fraction(count)
        index = int(ratio).bit_length() - 1  # the floor of the binary logarithm
        d = max(self.n // 2**index, self.d_min, self.m.get(h, 0))
        self.m[h] = d
        return d

    def find_d_min(self) -> None:
        """Of all workers, what the average hot key needs by its frequency."""
        hot, together = 0, 0.0
        for count, error in self.sketch.tracked().values():
            if count - error > self.theta * self.sketch.total:
                hot += 1
                together += count
        if self.min_choices is None and hot > 0:
            self.d_min = min(max(2, int(self.n * together / self.sketch.total / hot)), self.n)
