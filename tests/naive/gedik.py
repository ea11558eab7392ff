"""Gedik's constructions: scan, redist and readj (sec. 4.2, Alg. 2 - 4), and the look-up (Alg. 1).

As printed, but for what papers/README.md names: both sums of the migration penalty are those of
eq. 18, over D_o and D_a; redist fills D_c, takes out what it has placed, and adds to m by the old
location of the item placed; readj goes on (`continue`) where the text breaks off, compares with the
utility of the current mapping, passes over swaps of equal frequencies, and moves no item more than
c times. Of equally good candidates the first counts: heavier items before lighter ones, moves
before swaps, lower channels before higher ones.

Deviations: new channels come one at a time, as in sec. 5.1; in readj, of channels without tracked
items only one counts for the smallest load, the next one when that one has an item.

Frequencies that are multiples of a power of 2 make all sums exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from .ring import Ring

UTILITIES: dict[str, Callable[[float, float], float]] = {
    "a": lambda rho, _gamma: rho,
    "apm": lambda rho, gamma: rho + gamma,
    "aplm": lambda rho, gamma: rho + math.log(1 + gamma),
    "atm": lambda rho, gamma: rho * (1 + gamma),
    "atlm": lambda rho, gamma: rho * (1 + math.log(1 + gamma)),
}


def lookup(explicit: dict[int, int], ring: Ring, d: int) -> int:
    """Alg. 1."""
    return explicit[d] if d in explicit else ring.lookup(d)


@dataclass
class Problem:
    """What a construction is given; ``old`` is p^(t), ``ring`` is H_c^(t+1)."""

    f: dict[int, float]
    tracked: list[int]
    tracked_before: list[int]
    old: dict[int, int]
    ring: dict[int, int]
    n: int
    beta_s: Callable[[float], float]
    betas: list[Callable[[float], float]]  # of the resources that are not constant (sec. 4.4)
    alphas: list[float]
    slowness: list[float]
    utility: str = "apm"
    c: int = 5
    heaviest_first: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.heaviest_first = sorted(self.tracked, key=lambda d: (-self.f[d], d))
        self.U = UTILITIES[self.utility]

    def state(self, d: int) -> float:
        return self.beta_s(self.f.get(d, 0.0))

    def dropped(self) -> float:
        """The migration cost of D_o, items that are not tracked any more."""
        d_o = set(self.tracked_before) - set(self.tracked)
        return sum(self.state(d) for d in d_o if self.old[d] != self.ring[d])

    def ideal(self) -> float:
        """The ideal migration cost: all of D_a, over N."""
        d_a = set(self.tracked_before) | set(self.tracked)
        return sum(map(self.state, d_a)) / self.n or 1.0


class Placement:
    """H_p^(t+1) in the making, and the load of each channel for each resource."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.where: dict[int, int] = {}
        self.loads = [[0.0] * problem.n for _ in problem.betas]
        self.totals = [0.0] * len(problem.betas)
        self.aside: set[int] = set()  # channels that do not count

    def put(self, d: int, channel: int) -> None:
        self.where[d] = channel
        self._add(d, channel, 1)

    def take(self, d: int) -> None:
        self._add(d, self.where.pop(d), -1)

    def _add(self, d: int, channel: int, sign: int) -> None:
        for k, beta in enumerate(self.problem.betas):
            cost = sign * beta(self.problem.f[d])
            self.loads[k][channel] += cost * self.problem.slowness[channel]
            self.totals[k] += cost

    def rho(self) -> float:
        """Eq. 19 and 20."""
        n, product = self.problem.n, 1.0
        for loads, total, alpha in zip(self.loads, self.totals, self.problem.alphas, strict=True):
            theta = (alpha - 1) * (n - 1) / (alpha + n - 1)  # eq. 15
            least = min(load for i, load in enumerate(loads) if i not in self.aside)
            product *= (max(loads) - least) / (theta * (total / n)) if total else 0.0
        count = len(self.loads)
        return math.sqrt(product) if count == 2 else product ** (1 / count)

    def rho_with(self, d: int, channel: int) -> float:
        self.put(d, channel)
        rho = self.rho()
        self.take(d)
        return rho


def scan(problem: Problem) -> dict[int, int]:
    """Alg. 2."""
    placed = Placement(problem)
    m, ideal = problem.dropped(), problem.ideal()
    for d in problem.heaviest_first:
        h, best, u = problem.old[d], -1, math.inf
        for channel in range(problem.n):
            gamma = (m + problem.state(d) * (channel != h)) / ideal
            value = problem.U(placed.rho_with(d, channel), gamma)
            if value < u:
                best, u = channel, value
        m += problem.state(d) * (best != h)
        placed.put(d, best)
    return placed.where


def redist(problem: Problem) -> dict[int, int]:
    """Alg. 3."""
    placed = Placement(problem)
    m, ideal = problem.dropped(), problem.ideal()
    candidates = list(problem.heaviest_first)
    while candidates:
        best, d, u = -1, -1, math.inf
        for c in candidates:
            h = problem.old[c]
            for channel in range(problem.n):
                gamma = (m + problem.state(c) * (channel != h)) / ideal
                value = problem.U(placed.rho_with(c, channel), gamma) / problem.f[c]
                if value < u:
                    best, d, u = channel, c, value
        m += problem.state(d) * (best != problem.old[d])
        placed.put(d, best)
        candidates.remove(d)
    return placed.where


def readj(problem: Problem, most_moves: float = math.inf) -> dict[int, int]:
    """Alg. 4; ends early once ``most_moves`` have been made."""
    placed = Placement(problem)
    m, ideal = problem.dropped(), problem.ideal()
    for d in problem.heaviest_first:
        # Where N went down, items of channels that are gone start from the new consistent hash.
        stays = problem.old[d] < problem.n
        placed.put(d, problem.old[d] if stays else problem.ring[d])
        m += problem.state(d) * (not stays)
    moves = dict.fromkeys(problem.tracked, 0)
    placed.aside = set(range(problem.n)) - set(placed.where.values())
    _let_in(placed)
    while sum(moves.values()) < most_moves:
        rho = placed.rho()
        u = problem.U(rho, m / ideal)
        best, best_gain = None, -math.inf
        for w in _readjustments(problem, placed, moves):
            d1, _, d2 = w
            i = placed.where[d1]
            _apply(placed, w)
            a = placed.rho()
            _apply(placed, (d1, i, d2))
            if a >= rho:
                continue
            gamma = (m + _migration(problem, i, w)) / ideal
            f2 = 0.0 if d2 is None else problem.f[d2]
            gain = (u - problem.U(a, gamma)) / abs(problem.f[d1] - f2)
            if gain > best_gain:
                best, best_gain = w, gain
        if best is None:
            if _let_in(placed):
                continue
            break
        m += _migration(problem, placed.where[best[0]], best)
        _apply(placed, best)
        for d in (best[0], best[2]):
            if d is not None:
                moves[d] += 1
    return placed.where


Readjustment = tuple[int, int, int | None]
"""d1, the channel j it goes to, and d2, which comes back from there, or None."""


def _let_in(placed: Placement) -> bool:
    """Let the next channel count, if all that count have items."""
    counting = set(range(placed.problem.n)) - placed.aside
    if not placed.aside or counting - set(placed.where.values()):
        return False
    placed.aside.remove(min(placed.aside))
    return True


def _readjustments(
    problem: Problem, placed: Placement, moves: dict[int, int]
) -> Sequence[Readjustment]:
    """All moves and swaps of items on different channels, in the order in which ties count."""
    found: list[Readjustment] = []
    where, channels = placed.where, sorted(set(range(problem.n)) - placed.aside)
    free = [d for d in problem.heaviest_first if moves[d] < problem.c]
    for at, d1 in enumerate(free):
        found += [(d1, j, None) for j in channels if j != where[d1]]
        found += [
            (d1, where[d2], d2)
            for d2 in free[at + 1 :]
            if where[d2] != where[d1] and problem.f[d2] != problem.f[d1]
        ]
    return found


def _apply(placed: Placement, w: Readjustment) -> None:
    """Eq. 21."""
    d1, j, d2 = w
    i = placed.where[d1]
    placed.take(d1)
    placed.put(d1, j)
    if d2 is not None:
        placed.take(d2)
        placed.put(d2, i)


def _migration(problem: Problem, i: int, w: Readjustment) -> float:
    """Eq. 22."""
    d1, j, d2 = w
    old, cost = problem.old, problem.state(d1) * ((problem.old[d1] == i) - (problem.old[d1] == j))
    if d2 is not None:
        cost += problem.state(d2) * ((old[d2] == j) - (old[d2] == i))
    return cost


CONSTRUCTIONS = {"scan": scan, "redist": redist, "readj": readj}


def construct(name: str, problem: Problem, channels_before: int) -> dict[int, int]:
    """Add new channels one at a time (sec. 5.1), each to what the one before has led to."""
    old = problem.old
    for n in range(min(channels_before + 1, problem.n), problem.n + 1):
        speeds = [1 / slow for slow in problem.slowness[:n]]
        slowness = [sum(speeds) / n / speed for speed in speeds]
        step = replace(problem, old=old, n=n, slowness=slowness)
        old = problem.old | CONSTRUCTIONS[name](step)
    return {d: old[d] for d in problem.tracked}
