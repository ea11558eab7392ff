"""The ring: consistent hashing with virtual nodes, and a look-up that costs O(1).

Karger et al., "Consistent hashing and random trees", STOC 1997; in FISH sec. 5, CG sec. 4.2 and
Gedik sec. 4.1.1. Every worker has points on a circle of 64-bit words, as many as its capacity asks
for; a key belongs to the worker whose point is the next one clockwise from the key. A worker's
points depend on nothing but the worker and its capacity, so a worker that comes takes keys from
others and one that goes leaves its keys to others; no key moves between two that stay.

The circle is cut into equal buckets, a few for each point, that know the first point at or behind
their start. A look-up reads its bucket and passes the points that lie before the key: fewer than
one on average, so it costs the same for any number of workers. Most buckets hold no point; such a
bucket belongs to one worker, and a look-up of many keys reads the worker there and is done.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.checks import check_capacities, check_whole
from unskew.errors import InvalidParameterError
from unskew.hashing.arrays import as_hashes, as_readonly
from unskew.hashing.candidates import MAX_WORKERS
from unskew.hashing.mix import GOLDEN, mix, salt_of, spread
from unskew.typing import KeyHashes, Workers

POINTS = 100
"""Points of a worker of capacity 1, by default: loads of even keys then differ by about a tenth."""
MAX_POINTS = 2**24
_BUCKETS_PER_POINT = 4
_SHARED_RINGS = 4
_CHUNK = 1 << 13  # the arrays of one pass stay in the cache
_LAST, _64 = np.uint64(2**64 - 1), np.uint64(64)
# Keys and points come from unrelated words, or key 0 would lie on a point of worker 0.
_POINT_SALT = mix(np.array([0x52494E47], np.uint64))[0]


class Circle(NamedTuple):
    """A ring as kernels see it.

    ``points`` are sorted and closed by the largest word, which stands for the first point;
    ``owners`` are the workers' positions in the list of workers, which is the worker itself where
    workers are 0 to n - 1. ``first`` has the first point at or behind each bucket's start, and
    ``shift`` makes a bucket of a word.
    """

    points: KeyHashes
    owners: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    shift: np.uint64


@kernel
def point_of(position: np.uint64, points: KeyHashes, first: Any, shift: np.uint64) -> np.int64:
    """Return the index of the first point at or behind a position on the circle."""
    at = np.int64(first[np.int64(position >> shift)])
    while points[at] < position:
        at += 1
    return at


class Ring:
    """Workers on a circle. A ring does not change: `add` and `remove` return another.

    >>> ring = Ring(range(3))
    >>> ring.lookup(np.array([1, 2, 3, 4], np.uint64)).tolist()
    [0, 2, 2, 1]
    >>> ring.remove(2).lookup(np.array([1, 2, 3, 4], np.uint64)).tolist()
    [0, 0, 1, 1]
    """

    def __init__(
        self,
        workers: Iterable[int],
        capacities: Sequence[float] | None = None,
        *,
        points: int = POINTS,
        seed: int = 0,
    ) -> None:
        self.workers = tuple(check_whole("worker", each, 0, MAX_WORKERS) for each in workers)
        if not self.workers:
            raise InvalidParameterError("workers", [], "at least one worker")
        if len(set(self.workers)) < len(self.workers):
            twice = next(each for each in self.workers if self.workers.count(each) > 1)
            raise InvalidParameterError("workers", twice, "each worker once")
        self.capacities = check_capacities(capacities, len(self.workers))
        self.points = check_whole("points", points, 1, MAX_POINTS)
        self.seed = check_whole("seed", seed, 0, 2**64 - 1)
        self.circle = self._drawn()
        self._names = np.array(self.workers, np.int32)
        self._whole = self._undivided()

    def __repr__(self) -> str:
        return f"Ring({len(self.workers)} workers, {len(self.circle.points) - 1} points)"

    def lookup(self, hashes: KeyHashes) -> Workers:
        """Return the worker of every key. No JIT."""
        hashes = as_hashes(hashes)
        salt, shift = salt_of(self.seed), self.circle.shift
        found = np.empty(len(hashes), np.int32)
        for at in range(0, len(hashes), _CHUNK):
            position = spread(hashes[at : at + _CHUNK], salt)
            part = found[at : at + _CHUNK]
            # No bucket lies outside; "wrap" only spares the check.
            self._whole.take((position >> shift).view(np.int64), out=part, mode="wrap")
            divided = np.flatnonzero(part < 0)
            part[divided] = self._searched(position[divided])
        return found

    def add(self, worker: int, capacity: float = 1.0) -> Self:
        """Return a ring with one worker more."""
        capacities = (*self._capacities_or_ones(), capacity)
        return self._like((*self.workers, worker), capacities)

    def remove(self, worker: int) -> Self:
        """Return a ring without a worker."""
        worker = check_whole("worker", worker, 0, MAX_WORKERS)
        if worker not in self.workers:
            raise InvalidParameterError("worker", worker, f"one of {len(self.workers)} on the ring")
        kept = [at for at, each in enumerate(self.workers) if each != worker]
        capacities = self._capacities_or_ones()
        return self._like([self.workers[at] for at in kept], [capacities[at] for at in kept])

    def _capacities_or_ones(self) -> tuple[float, ...]:
        return self.capacities or (1.0,) * len(self.workers)

    def _like(self, workers: Iterable[int], capacities: Sequence[float]) -> Self:
        return type(self)(workers, capacities, points=self.points, seed=self.seed)

    def _searched(self, position: KeyHashes) -> Workers:
        """Return the workers of positions in buckets that hold points."""
        points, owners, first, shift = self.circle
        at = first[(position >> shift).view(np.int64)]
        passed = np.flatnonzero(points[at] < position)
        while passed.size:
            at[passed] += 1
            passed = passed[points[at[passed]] < position[passed]]
        return self._names[owners[at]]

    def _drawn(self) -> Circle:
        counts = check_points(self.points, len(self.workers), self.capacities)
        total = int(counts.sum())
        owners = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        names = np.array(self.workers, np.uint64)[owners]
        # The i-th point of a worker, whatever the others have.
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        numbers = (np.arange(total) - starts).astype(np.uint64)
        own = spread(names + _POINT_SALT, salt_of(self.seed))
        points = mix(own + numbers * GOLDEN)
        order = np.lexsort((names, points))
        closed = np.append(points[order], _LAST)
        # A key behind the last point belongs to the first.
        around = np.append(owners[order], owners[order[0]]).astype(np.int32)
        shift = np.uint64(64 - max(1, math.ceil(math.log2(total * _BUCKETS_PER_POINT))))
        first = np.searchsorted(closed, _bucket_starts(shift)).astype(np.int32)
        return Circle(as_readonly(closed), as_readonly(around), as_readonly(first), shift)

    def _undivided(self) -> Workers:
        """Return the worker that a whole bucket belongs to, -1 where a point divides it."""
        points, owners, first, shift = self.circle
        last_words = _bucket_starts(shift) + (_LAST >> (_64 - shift))
        return np.where(points[first] >= last_words, self._names[owners[first]], np.int32(-1))


def _bucket_starts(shift: np.uint64) -> KeyHashes:
    return np.arange(2 ** int(_64 - shift), dtype=np.uint64) << shift


def check_points(
    points: int, n_workers: int, capacities: tuple[float, ...] | None
) -> npt.NDArray[np.int64]:
    """Return how many points each worker has; refuse more in all than a ring holds."""
    speeds = np.ones(n_workers) if capacities is None else np.array(capacities)
    counts: npt.NDArray[np.int64] = np.maximum(1, np.round(points * speeds)).astype(np.int64)
    if counts.sum() > MAX_POINTS:
        raise InvalidParameterError(
            "points",
            points,
            f"at most {MAX_POINTS} on the ring, and there would be {counts.sum()}: give fewer, or "
            "give capacities as multiples of a usual worker's, which is 1",
        )
    return counts


@functools.lru_cache(_SHARED_RINGS)
def shared_ring(
    n_workers: int, capacities: tuple[float, ...] | None, points: int, seed: int
) -> Ring:
    """Return the ring of workers 0 to n - 1, one in a process for all routers that ask for it.

    A Spark task builds a router for each partition; drawing a large ring takes longer than
    routing a small one.
    """
    return Ring(range(n_workers), capacities, points=points, seed=seed)
