"""The partitioning function: a worker of its own for each tracked key, the ring for all others.

Gedik sec. 4.1, Alg. 1: an explicit hash over a consistent hash. Both are one structure here. Under
the ring's mix, which is a bijection, a tracked key is one word of the circle, so it is an interval
of length one that cuts the interval around it in two:

    ring       ----------- 4 ----------|-- 7 --|
    tracked    ---- 4 ----|2|---- 4 ---|-- 7 --|       the key in the middle goes to worker 2

A look-up finds the interval that a word lies in. The circle is cut into equal buckets, a few for
each interval, that know one interval each: that of a tracked key where there is one, as those are
the keys that come often. Most look-ups end there, the others walk a step or two along the circle;
so a look-up costs O(1) and hardly more than one on the ring, for any number of tracked keys.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from unskew.checks import check_capacities, check_whole
from unskew.errors import InvalidInputError
from unskew.hashing.arrays import as_hashes
from unskew.hashing.candidates import MAX_WORKERS
from unskew.hashing.mix import salt_of, spread
from unskew.hashing.ring import POINTS, Ring, shared_ring
from unskew.typing import AnyArray, KeyHashes, Workers

_BUCKETS_PER_INTERVAL = 4
_MIN_BITS = 12  # on a small circle tracked keys would often share a bucket
_CHUNK = 1 << 13  # the arrays of one pass stay in the cache
_ONE = np.uint64(1)


class PartitionFunction:
    """Workers of keys: explicit for the tracked ones, by consistent hashing for the rest.

    A function does not change; a plan makes another.

    >>> plain, keys = consistent_function(3), np.arange(5, dtype=np.uint64)
    >>> elsewhere = (plain.lookup(keys[2:3]) + 1) % 3
    >>> function = PartitionFunction(plain.ring, keys[2:3], elsewhere)
    >>> (function.lookup(keys) == plain.lookup(keys)).tolist()
    [True, True, False, True, True]
    """

    def __init__(self, ring: Ring, keys: KeyHashes, workers: AnyArray) -> None:
        keys = as_hashes(keys)
        _check_tracked(keys, workers, ring)
        order = np.argsort(keys)
        self.ring = ring
        self.keys: KeyHashes = keys[order]
        """The tracked keys, in ascending order."""
        self.workers: Workers = np.asarray(workers)[order].astype(np.int32)
        """The worker of each tracked key."""
        self._salt = salt_of(ring.seed)
        self._draw(spread(keys, self._salt), np.asarray(workers))

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"PartitionFunction({self.n_workers} workers, {len(self)} tracked keys)"

    def __eq__(self, other: object) -> bool:
        """Tell whether both have the same ring and track the same keys on the same workers."""
        return isinstance(other, PartitionFunction) and (
            _drawn_from(self.ring) == _drawn_from(other.ring)
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.workers, other.workers)
        )

    __hash__ = None  # type: ignore[assignment]  # as of everything that compares by its arrays

    @property
    def n_workers(self) -> int:
        """The number of workers."""
        return len(self.ring.workers)

    def lookup(self, hashes: KeyHashes) -> Workers:
        """Return the worker of every key. No JIT."""
        hashes = as_hashes(hashes)
        found = np.empty(len(hashes), np.int32)
        for at in range(0, len(hashes), _CHUNK):
            position = spread(hashes[at : at + _CHUNK], self._salt)
            # No interval lies outside; "wrap" only spares the check.
            interval = self._interval_of(position)
            self._owners.take(interval, out=found[at : at + _CHUNK], mode="wrap")
        return found

    def carried_to(self, ring: Ring) -> PartitionFunction:
        """Return the function over another ring; a key whose worker is gone is tracked no more."""
        stays = self.workers < len(ring.workers)
        return PartitionFunction(ring, self.keys[stays], self.workers[stays])

    def _interval_of(self, position: KeyHashes) -> AnyArray:
        at = self._near.take((position >> self._shift).view(np.int64), mode="wrap")
        # A word that lies before its interval wraps around, and is too far behind it as well.
        behind = position - self._starts.take(at, mode="wrap")
        astray = np.flatnonzero(behind > self._spans.take(at, mode="wrap"))
        while astray.size:
            words, near = position[astray], at[astray]
            near += np.where(words < self._starts[near], -1, 1).astype(np.int32)
            at[astray] = near
            astray = astray[words - self._starts[near] > self._spans[near]]
        return at

    def _draw(self, tracked: KeyHashes, workers: AnyArray) -> None:
        points, owners, _, _ = self.ring.circle
        before = tracked[tracked > 0] - _ONE
        ends = np.unique(np.concatenate([points, tracked, before]))
        self._owners = owners[np.searchsorted(points, ends)]
        of_tracked = np.searchsorted(ends, tracked).astype(np.int32)
        self._owners[of_tracked] = workers
        self._starts = np.append(np.uint64(0), ends[:-1] + _ONE)
        self._spans = ends - self._starts
        bits = max(_MIN_BITS, math.ceil(math.log2(len(ends) * _BUCKETS_PER_INTERVAL)))
        self._shift = np.uint64(64 - bits)
        starts_of_buckets = np.arange(2**bits, dtype=np.uint64) << self._shift
        self._near = np.searchsorted(ends, starts_of_buckets).astype(np.int32)
        # Of tracked keys in one bucket the first is found at once: callers put the heaviest first.
        self._near[(tracked[::-1] >> self._shift).view(np.int64)] = of_tracked[::-1]


def consistent_function(
    n_workers: int,
    capacities: Sequence[float] | None = None,
    *,
    points: int = POINTS,
    seed: int = 0,
) -> PartitionFunction:
    """Return the function that tracks no key: the ring alone."""
    n_workers = check_whole("n_workers", n_workers, 1, MAX_WORKERS)
    return _consistent(n_workers, check_capacities(capacities, n_workers), points, seed)


@functools.lru_cache(maxsize=4)  # every source of a process starts from the same one
def _consistent(
    n_workers: int, capacities: tuple[float, ...] | None, points: int, seed: int
) -> PartitionFunction:
    ring = shared_ring(n_workers, capacities, points, seed)
    return PartitionFunction(ring, np.empty(0, np.uint64), np.empty(0, np.int32))


def _drawn_from(ring: Ring) -> tuple[object, ...]:
    return ring.workers, ring.capacities, ring.points, ring.seed


def _check_tracked(keys: KeyHashes, workers: AnyArray, ring: Ring) -> None:
    if ring.workers != tuple(range(len(ring.workers))):
        raise InvalidInputError(
            "ring", f"has workers {ring.workers[:3]}...", "number them 0 to n - 1, in order"
        )
    workers = np.asarray(workers)
    if workers.shape != keys.shape:
        raise InvalidInputError(
            "workers", f"has {workers.size} values for {len(keys)} keys", "pass one for each key"
        )
    if len(np.unique(keys)) < len(keys):
        raise InvalidInputError("keys", "has a key twice", "pass each tracked key once")
    wrong = np.flatnonzero((workers < 0) | (workers >= len(ring.workers)))
    if wrong.size:
        raise InvalidInputError(
            "workers",
            f"is {workers[wrong[0]]} for key {keys[wrong[0]]}",
            f"pass workers from 0 to {len(ring.workers) - 1}",
        )
