"""The fixed sequence F_1, F_2, ... of workers that a key looks at.

Every scheme that looks at the same key looks at the same workers in the same order, so growing d
only adds workers. The n workers of a sequence are distinct: with independent hash functions, as
printed in the papers, the two choices of a hot key coincide with probability 1/n.

F_1 and F_2 come from the two halves of one mixed word: F_1 is uniform over the workers and F_2
uniform over the others, so a scheme of two choices pays for one mix. The further ones step
through the others by double hashing: with p the first prime not below n - 1, the walk
i -> (start + i * step) mod p permutes [0, p), and following it until it falls below n - 1 (the
first-return map) permutes [0, n - 1). Any element costs O(1), and walking on to the next one an
addition.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from unskew._kernel import elementwise, kernel
from unskew.checks import check_whole
from unskew.errors import InvalidParameterError
from unskew.hashing.arrays import as_hashes
from unskew.hashing.mix import Word, mix, salt_of, spread
from unskew.typing import AnyArray, KeyHashes, Workers

MAX_WORKERS = 2**31 - 1
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_CHUNK = 1 << 13  # 64 KiB a temporary: the passes of the mix stay in the cache


@elementwise
def first_of(mixed: Word, n: np.uint64) -> Word:
    """Return F_1 of a spread hash: its high half, scaled to [0, n)."""
    return ((mixed >> _32) * n) >> _32


@elementwise
def second_offset(mixed: Word, n: np.uint64) -> Word:
    """Return how far F_2 lies behind F_1, less one: the low half, scaled to [0, n - 1)."""
    return ((mixed & _LOW) * (n - _ONE)) >> _32


@elementwise
def step_of(mixed: Word, prime: np.uint64) -> Word:
    """Return the step, in [1, p), by which F_3, F_4, ... walk through the other workers."""
    return (((mix(mixed) >> _32) * (prime - _ONE)) >> _32) + _ONE


@functools.cache
def prime_for(n: int) -> np.uint64:
    """Return the first prime not below n - 1: the length of the walk."""
    prime = max(2, n - 1)
    while any(prime % divisor == 0 for divisor in range(2, math.isqrt(prime) + 1)):
        prime += 1
    return np.uint64(prime)


@kernel
def inside(
    offset: np.uint64, start: np.uint64, step: np.uint64, prime: np.uint64, n: np.uint64
) -> np.uint64:
    """Follow the walk from ``offset`` until it falls below n - 1."""
    while offset >= n - _ONE:
        offset = (start + offset * step) % prime
    return offset


@kernel
def worker_behind(first: np.uint64, offset: np.uint64, n: np.uint64) -> np.int64:
    """Return the worker that lies ``offset + 1`` behind ``first``, around the circle."""
    worker = first + _ONE + offset
    return np.int64(worker - n if worker >= n else worker)


def candidate(hashes: KeyHashes, i: int, seed: int, n: int) -> Workers:
    """Return F_{i + 1} of every key, for ``i`` from 0 to n - 1. No JIT.

    >>> keys = np.array([42, 43], np.uint64)
    >>> [candidate(keys, i, seed=0, n=4).tolist() for i in range(4)]
    [[2, 1], [1, 0], [0, 2], [3, 3]]
    """
    hashes = as_hashes(hashes)
    check_whole("n", n, 1, MAX_WORKERS)
    check_whole("seed", seed, 0, 2**64 - 1)
    if not 0 <= i < n:
        raise InvalidParameterError("i", i, f"a position in [0, {n}), as there are {n} workers")
    workers = np.empty(len(hashes), np.int32)
    salt, size = salt_of(seed), np.uint64(n)
    for at in range(0, len(hashes), _CHUNK):
        mixed = spread(hashes[at : at + _CHUNK], salt)
        chosen = first_of(mixed, size)
        if i > 0:
            chosen = (chosen + _ONE + _offsets(mixed, np.array(i - 1, np.uint64), n)) % size
        workers[at : at + _CHUNK] = chosen
    return workers


def _offsets(mixed: KeyHashes, positions: KeyHashes, n: int) -> KeyHashes:
    """Return one element of each key's permutation of [0, n - 1)."""
    start = second_offset(mixed, np.uint64(n))
    if not positions.any():
        return start
    prime = prime_for(n)
    step = step_of(mixed, prime)
    offsets = (start + positions * step) % prime
    while (outside := np.flatnonzero(offsets >= np.uint64(n - 1))).size:
        offsets[outside] = (start[outside] + offsets[outside] * step[outside]) % prime
    return offsets


def candidates_at(mixed: KeyHashes, first: AnyArray, positions: AnyArray | int, n: int) -> AnyArray:
    """Return F_{position + 1} of keys whose spread hashes and F_1 are known. No JIT.

    A scheme may choose F_1 otherwise than evenly; the others are then the same distance behind it.
    """
    at = np.broadcast_to(np.asarray(positions), mixed.shape)
    offsets = _offsets(mixed, np.maximum(at, 1).astype(np.uint64) - _ONE, n).astype(np.int64)
    return np.where(at == 0, first, (first + 1 + offsets) % n)
