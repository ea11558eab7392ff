"""The plan of a block: how much of which key goes to which worker.

Every worker has a level, its share of the block, and a limit at or a little above it that no plan
exceeds. Keys that fill more than a tenth of their worker are the head, the others the tail.

1. Tail keys go whole to F_1. A worker that they fill above its limit passes some on, whole, to
   candidates with room (`waterline_tail`).
2. Head keys, smallest first, each fill the room of their candidates in order, until they are used
   up. The largest is the water that levels what the others left.
3. What is left after a bounded number of rounds fills the room that is left, in one sweep over both
   (McNaughton's wrap-around, 1959).

Every piece of a key either fills a worker, which then takes nothing more, or is the last of its
key. The limits add up to at least the block, so at most n - 1 pieces are not the last one: **a
block has at most n - 1 replicas more than it has keys**.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from unskew.grouping.waterline_block import Amounts, Block, Indices, Pieces
from unskew.hashing.candidates import candidates_at
from unskew.typing import KeyHashes

HEAD = 0.1
"""A key that fills more of its worker's level than this is split rather than moved."""


class Arcs:
    """F_1 by share: each worker owns an arc of the hashes as wide as its share of the load."""

    def __init__(self, shares: Amounts | None, n_workers: int) -> None:
        if shares is None:  # the same F_1 as that of every other scheme
            begins = [-(-(worker << 32) // n_workers) for worker in range(n_workers)]
        else:
            ends = np.minimum(np.cumsum(shares), 1.0) * 2.0**32
            begins = [0, *ends[:-1].astype(np.int64).tolist()]
        self.begins = np.array(begins, np.uint64) << np.uint64(32)
        self.widths = np.diff(np.array([*begins, 1 << 32], np.float64)) * 2.0**32

    def first(self, keys: KeyHashes) -> Indices:
        """Return F_1 of keys in the order of their hashes."""
        ends = np.searchsorted(keys, self.begins[1:])
        return np.repeat(np.arange(len(self.begins)), np.diff(ends, prepend=0, append=len(keys)))

    def depth(self, keys: KeyHashes, first: Indices) -> Amounts:
        """Return how far into its worker's arc each key lies, in [0, 1): an order that lasts."""
        inside = (keys - self.begins[first]).astype(np.float64)
        depth: Amounts = np.minimum(inside / self.widths[first], 1 - 2.0**-30)
        return depth


class Candidates(NamedTuple):
    """The fixed sequence of each key of a block."""

    keys: KeyHashes
    first: Indices
    n_workers: int

    def at(self, which: Indices, positions: Indices | int) -> Indices:
        """Return F_(position + 1) of some keys."""
        return candidates_at(self.keys[which], self.first[which], positions, self.n_workers)


def limits_of(levels: Amounts, tolerance: float, unit: float, phase: float) -> Amounts:
    """Return what each worker may get: its level, the tolerance and rounding included.

    Levels are rounded so that they add up to the block: one worker up, another down, by ``phase``.
    Many short blocks, each with another phase, do then not round up the same workers.

    >>> limits_of(np.full(4, 2.5), 0.01, 1.0, 0.0).tolist()
    [2.0, 3.0, 2.0, 3.0]
    >>> limits_of(np.full(4, 2.5), 0.01, 1.0, 0.5).tolist()
    [3.0, 2.0, 3.0, 2.0]
    >>> limits_of(np.full(4, 250.0), 0.01, 1.0, 0.0).tolist()
    [252.0, 252.0, 252.0, 252.0]
    """
    exact = levels / unit
    edges = np.floor(np.round(np.cumsum(exact), 6) + phase)
    rounded = np.diff(edges, prepend=math.floor(phase))
    tolerated = np.floor(exact * (1 + tolerance) + 1e-9)
    limits: Amounts = np.maximum(rounded, tolerated) * unit
    return limits


def loads_of(workers: Indices, amounts: Amounts, n_workers: int) -> Amounts:
    """Return what each worker gets."""
    loads: Amounts = np.bincount(workers, amounts, n_workers).astype(np.float64)
    return loads


def ranked(groups: Indices, ranks: Amounts | None = None) -> Indices:
    """Return an order by group, within a group by ``ranks`` in [0, 1), else as they come."""
    words = (groups.astype(np.uint64) << np.uint64(42)) | np.arange(len(groups), dtype=np.uint64)
    if ranks is not None:
        words |= (ranks * 2.0**22).astype(np.uint64) << np.uint64(20)
    words.sort()  # no two are equal
    return (words & np.uint64(0xFFFFF)).view(np.int64)


def before(amounts: Amounts, groups: Indices) -> Amounts:
    """Return what of its group comes before each, where groups lie together."""
    ends = np.cumsum(amounts)
    begins = np.flatnonzero(np.diff(groups, prepend=-1))
    lengths = np.diff(begins, append=len(groups))
    return ends - amounts - np.repeat(ends[begins] - amounts[begins], lengths)


class Plan:
    """A plan in the making: where whole keys go, the pieces of others, and what room is left."""

    def __init__(self, block: Block, first: Indices, limits: Amounts) -> None:
        self.amounts = block.amounts
        self.candidates = Candidates(block.keys, first, len(limits))
        self.workers = first.copy()
        self.room = limits.copy()
        """Below 0 where tail keys stand above the limit, until they are moved."""
        self._pieces: list[Pieces] = []

    def fill(self, head: Indices, evicted: Indices) -> None:
        """Split the head over the room there is, and tail keys that found none as a whole."""
        n = len(self.room)
        order = head[np.lexsort((self.candidates.keys[head], self.amounts[head]))]
        largest = math.isqrt(n)
        small, large = np.split(order, [max(0, len(order) - largest)])
        rest, left = self._in_rounds(small, n)
        over = np.zeros(len(large))
        for at, (key, sequence) in enumerate(self._sequences(large)):
            over[at] = self._along(key, float(self.amounts[key]), sequence)
            if over[at] > 0:  # further than expected; those filled meanwhile are passed by
                whole = self.candidates.at(np.full(n, key), np.arange(n))
                over[at] = self._along(key, float(over[at]), whole)
        self._wrap_around(
            np.concatenate((rest, evicted, large)),
            np.concatenate((left, self.amounts[evicted], over)),
        )

    def pieces(self) -> Pieces:
        """Return the pieces of split keys; a key in one piece goes whole to its worker."""
        if not self._pieces:
            return Pieces(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        keys = np.concatenate([each.keys for each in self._pieces])
        workers = np.concatenate([each.workers for each in self._pieces])
        amounts = np.concatenate([each.amounts for each in self._pieces])
        alone = np.bincount(keys, minlength=len(self.workers))[keys] == 1
        self.workers[keys[alone]] = workers[alone]
        return Pieces(keys[~alone], workers[~alone], amounts[~alone])

    def _in_rounds(self, keys: Indices, n: int) -> tuple[Indices, Amounts]:
        """Let all keys fill their F_1, then their F_2, ...; where they meet, smaller ones first."""
        left = self.amounts[keys]
        for position in range(min(n, math.isqrt(n) + 8)):
            if not len(keys):
                break
            chosen = self.candidates.at(keys, position)
            order = ranked(chosen)
            chosen, wanted = chosen[order], left[order]
            got = np.clip(self.room[chosen] - before(wanted, chosen), 0.0, wanted)
            self._place(keys[order], chosen, got)
            left[order] -= got
            keys, left = keys[left > 0], left[left > 0]
        return keys, left

    def _sequences(self, keys: Indices) -> Iterator[tuple[int, Indices]]:
        """Yield keys with the candidates that each will probably need, if filled in this order."""
        n = len(self.room)
        amounts = self.amounts[keys]
        room = np.maximum(self.room.sum() + amounts - np.cumsum(amounts), amounts)
        lengths = np.minimum(n, np.ceil(1.3 * n * amounts / room).astype(np.int64) + 8)
        ends = np.cumsum(lengths)
        begins = ends - lengths
        positions = np.arange(int(lengths.sum())) - np.repeat(begins, lengths)
        workers = self.candidates.at(np.repeat(keys, lengths), positions)
        for key, begin, end in zip(keys, begins, ends, strict=True):
            yield int(key), workers[begin:end]

    def _along(self, key: int, amount: float, sequence: Indices) -> float:
        """Fill the room along a sequence of workers with an amount of a key; return the rest."""
        room = self.room[sequence]
        got = np.clip(amount - (np.cumsum(room) - room), 0.0, room)
        self._place(np.full(len(sequence), key), sequence, got)
        return amount - float(got.sum())

    def _wrap_around(self, keys: Indices, left: Amounts) -> None:
        """Lay what is left end to end beside the room that is left, and cut where either ends."""
        some = left > 0
        keys, left = keys[some], left[some]
        if not len(keys):
            return
        open_ = np.flatnonzero(self.room > 0)
        if not len(open_):  # what is left is what rounding left
            open_ = np.array([self.room.argmax()])
        ends, walls = np.cumsum(left), np.cumsum(self.room[open_])
        cuts = np.unique(np.concatenate((ends, walls[walls < ends[-1]])))
        at = np.minimum(np.searchsorted(walls, cuts), len(open_) - 1)
        self._place(keys[np.searchsorted(ends, cuts)], open_[at], np.diff(cuts, prepend=0.0))

    def _place(self, keys: Indices, workers: Indices, amounts: Amounts) -> None:
        some = amounts > 0
        piece = Pieces(keys[some], workers[some], amounts[some])
        if len(piece.keys):
            self._pieces.append(piece)
            self.room -= loads_of(piece.workers, piece.amounts, len(self.room))
