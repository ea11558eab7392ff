"""Waterline one key at a time, with dictionaries and loops, written from its description.

`docs/waterline.md` and the docstrings of `unskew.grouping.waterline` are the description. A plan is
a list of pieces (worker, amount) for each key; a whole key is one piece.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from math import floor, gcd, isqrt

from .mix import GOLDEN, MASK64, candidates, spread

HEAD, USUAL, FADE = 0.1, 3.0, 0.05
TAIL_CANDIDATES, TRIES = 3, 4
SILVER = 0x6A09E667F3BCC909


class Waterline:
    def __init__(
        self,
        n: int,
        seed: int = 0,
        capacities: Sequence[float] | None = None,
        block: int = 1 << 16,
        tolerance: float = 0.01,
        source: int = 0,
    ) -> None:
        speeds = [1.0] * n if capacities is None else list(capacities)
        self.n, self.seed, self.block, self.tolerance, self.source = (
            n,
            seed,
            block,
            tolerance,
            source,
        )
        self.shares = [speed / sum(speeds) for speed in speeds]
        if capacities is None:
            self.begins = [-(-(worker << 32) // n) << 32 for worker in range(n)]
        else:
            heights = [min(sum(self.shares[:worker]), 1.0) for worker in range(n)]
            self.begins = [int(height * 2.0**32) << 32 for height in heights]
        self.usual = [0.0] * n
        self.faded = 0.0
        self.blocks = 0

    def route(self, hashes: Sequence[int], weights: Sequence[float] | None = None) -> list[int]:
        """Return the worker of each tuple, block by block."""
        costs = [1.0] * len(hashes) if weights is None else list(weights)
        out: list[int] = []
        for at in range(0, len(hashes), self.block):
            out += self.route_block(hashes[at : at + self.block], costs[at : at + self.block])
        return out

    def route_block(self, hashes: Sequence[int], costs: Sequence[float]) -> list[int]:
        """Count, plan, deal."""
        where: dict[int, list[int]] = {}
        for position, h in enumerate(hashes):
            where.setdefault(spread(h, self.seed), []).append(position)
        where = dict(sorted(where.items()))
        amounts = {key: sum(costs[at] for at in where[key]) for key in where}
        sequence = {key: self.sequence(hashes[where[key][0]], key) for key in where}
        pieces = self.plan(amounts, sequence, len(hashes))
        out = [0] * len(hashes)
        for key, positions in where.items():
            for position, worker in deal(positions, pieces[key], costs):
                out[position] = worker
        return out

    def sequence(self, h: int, key: int) -> list[int]:
        """F_1 by the arc that the key lies in, the others as far behind it as for any scheme."""
        usual = candidates(h, self.n, self.seed, self.n)
        first = max(worker for worker in range(self.n) if self.begins[worker] <= key)
        return [(worker - usual[0] + first) % self.n for worker in usual]

    def depth(self, key: int, first: int) -> float:
        """How far into its worker's arc a key lies."""
        end = self.begins[first + 1] if first + 1 < self.n else 1 << 64
        return min((key - self.begins[first]) / (end - self.begins[first]), 1 - 2.0**-30)

    def limits(self, levels: list[float], unit: float) -> list[float]:
        """The level, rounded up or down in turn, or the tolerance if that is more."""
        turn = (self.source * GOLDEN + self.blocks * SILVER) & MASK64
        self.blocks += 1
        phase = (turn >> 32) / 2.0**32
        limits, height, edge = [], 0.0, floor(phase)
        for level in levels:
            height += level / unit
            rounded = floor(round(height, 6) + phase) - edge
            edge += rounded
            limits.append(max(rounded, floor(level / unit * (1 + self.tolerance) + 1e-9)) * unit)
        return limits

    def plan(
        self, amounts: dict[int, float], sequence: dict[int, list[int]], tuples: int
    ) -> dict[int, list[tuple[int, float]]]:
        """Tail first, then the head smallest first, then the rest in one sweep."""
        whole = sum(amounts.values())
        levels = [whole * share for share in self.shares]
        room = self.limits(levels, whole / tuples if whole else 1.0)
        home = {key: sequence[key][0] for key in amounts}
        head = [key for key in amounts if amounts[key] > HEAD * levels[home[key]]]
        tail = [key for key in amounts if key not in set(head)]
        reserved = [0.0] * self.n
        for key in head:
            reserved[home[key]] += min(amounts[key], levels[home[key]])
        loads = reserved[:]
        for key in tail:
            room[home[key]] -= amounts[key]
            loads[home[key]] += amounts[key]
        self.remember(loads, whole, tuples)
        workers = self.settle(tail, amounts, sequence, room, reserved)
        evicted = self.evict(workers, amounts, sequence, room)
        pieces = self.fill(head, evicted, amounts, sequence, room)
        return pieces | {key: [(workers[key], amounts[key])] for key in tail if key not in evicted}

    def remember(self, loads: list[float], whole: float, tuples: int) -> None:
        """Average how much F_1 gives each worker; older blocks fade."""
        keep = 1 - FADE * tuples / self.block
        self.usual = [u * keep + load for u, load in zip(self.usual, loads, strict=True)]
        self.faded = self.faded * keep + whole

    def fill(
        self,
        head: list[int],
        evicted: list[int],
        amounts: dict[int, float],
        sequence: dict[int, list[int]],
        room: list[float],
    ) -> dict[int, list[tuple[int, float]]]:
        """Fill the room of each key's candidates; what is left over fills all room in one sweep."""
        pieces: dict[int, list[tuple[int, float]]] = {key: [] for key in [*head, *evicted]}
        left = {key: amounts[key] for key in pieces}

        def place(key: int, worker: int) -> None:
            got = max(0.0, min(room[worker], left[key]))
            if got > 0:
                pieces[key].append((worker, got))
                room[worker] -= got
                left[key] -= got

        order = sorted(head, key=lambda key: (amounts[key], key))
        small, large = order[: max(0, len(order) - isqrt(self.n))], order[-isqrt(self.n) :]
        for position in range(min(self.n, isqrt(self.n) + 8)):
            for key in small:
                place(key, sequence[key][position])
        for key in large:
            for worker in sequence[key]:
                place(key, worker)
        for key in [*small, *evicted, *large]:
            for worker in range(self.n):
                place(key, worker)
        return pieces

    def settle(
        self,
        tail: list[int],
        amounts: dict[int, float],
        sequence: dict[int, list[int]],
        room: list[float],
        reserved: list[float],
    ) -> dict[int, int]:
        """Move tail keys off workers above their limit, as far as others have room."""
        workers = {key: sequence[key][0] for key in tail}
        home = dict(workers)
        crowd = tail
        for spared in (reserved, [0.0] * self.n):
            for position in range(1, min(self.n, TAIL_CANDIDATES + 1)):
                crowd = [key for key in crowd if workers[key] == home[key] and room[home[key]] < 0]
                target = {key: sequence[key][position] for key in crowd}
                crowd = sorted(crowd, key=lambda key: (home[key], self.rank(key, home, target)))
                for _ in range(TRIES):
                    can = [
                        key
                        for key in crowd
                        if workers[key] == home[key]
                        and amounts[key] <= room[target[key]] - spared[target[key]]
                    ]
                    leaving = until(can, home, amounts, [max(0.0, -each) for each in room])
                    leaving.sort(key=lambda key: floor(self.depth(key, home[key]) * 2**22))
                    come = [0.0] * self.n
                    free = [each - spare for each, spare in zip(room, spared, strict=True)]
                    for key in leaving:
                        come[target[key]] += amounts[key]
                        if come[target[key]] <= free[target[key]]:
                            workers[key] = target[key]
                            room[home[key]] += amounts[key]
                            room[target[key]] -= amounts[key]
        self.crowd = crowd
        return workers

    def evict(
        self,
        workers: dict[int, int],
        amounts: dict[int, float],
        sequence: dict[int, list[int]],
        room: list[float],
    ) -> list[int]:
        """Give up on tail keys that must leave and found no worker as a whole."""
        home = {key: sequence[key][0] for key in self.crowd}
        stay = [key for key in self.crowd if workers[key] == home[key]]
        evicted = until(stay, home, amounts, [max(0.0, -each) for each in room])
        for key in evicted:
            room[home[key]] += amounts[key]
        return evicted

    def rank(self, key: int, home: dict[int, int], target: dict[int, int]) -> int:
        """First the keys whose target usually has room, then by hash; as far as 22 bits tell."""
        share = max(self.faded * self.shares[target[key]], 1e-300)
        usual = min(max(self.usual[target[key]] / share, 0.0), 2.0)
        return floor((self.depth(key, home[key]) + USUAL * usual) / (2 * USUAL + 1) * 2**22)


def until(
    keys: list[int], home: dict[int, int], amounts: dict[int, float], most: list[float]
) -> list[int]:
    """Take keys in order until those of each home make up what it must give."""
    taken, gone = [], [0.0] * len(most)
    for key in keys:
        if gone[home[key]] < most[home[key]]:
            taken.append(key)
        gone[home[key]] += amounts[key]
    return taken


def deal(
    positions: list[int], pieces: list[tuple[int, float]], costs: Sequence[float]
) -> list[tuple[int, int]]:
    """Give the tuples of a key to its pieces, in an order in which all pieces take turns."""
    length = len(positions)
    stride = max(1, round(length * 0.6180339887498949))
    while gcd(stride, length) > 1:
        stride += 1
    in_turn = sorted(range(length), key=lambda rank: rank * stride % length)
    dealt = []
    reached = Fraction(0)
    for rank in in_turn:
        middle = reached + Fraction(costs[positions[rank]]) / 2
        reached += Fraction(costs[positions[rank]])
        ends = itertools.accumulate(Fraction(amount) for _, amount in pieces)
        dealt.append(
            (positions[rank], next(w for (w, _), e in zip(pieces, ends, strict=True) if middle < e))
        )
    return dealt
