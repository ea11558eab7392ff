"""XXH64 as Spark's ``xxhash64`` applies it: one value after the other, each seeding the next.

Written from the algorithm's description (Collet, "xxHash fast digest algorithm"). Fixed-width
values are array operations and need no JIT; bytes of varying length take a kernel.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unskew._kernel import elementwise, kernel
from unskew.hashing.mix import Word
from unskew.typing import KeyHashes

_P1, _P2, _P3 = (np.uint64(p) for p in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))
_P4, _P5 = np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5)
_64 = np.uint64(64)


@elementwise
def _rotate(x: Word, bits: np.uint64) -> Word:
    return (x << bits) | (x >> (_64 - bits))


@elementwise
def _avalanche(x: Word) -> Word:
    x = (x ^ (x >> np.uint64(33))) * _P2
    x = (x ^ (x >> np.uint64(29))) * _P3
    return x ^ (x >> np.uint64(32))


@elementwise
def _absorb_8(x: Word, word: Word) -> Word:
    return _rotate(x ^ (_rotate(word * _P2, np.uint64(31)) * _P1), np.uint64(27)) * _P1 + _P4


@elementwise
def _absorb_4(x: Word, word: Word) -> Word:
    return _rotate(x ^ (word * _P1), np.uint64(23)) * _P2 + _P3


@elementwise
def hash_ints(words: Word, seeds: Word) -> Word:
    """Hash 4-byte values, given as words whose high half is zero."""
    return _avalanche(_absorb_4(seeds + _P5 + np.uint64(4), words))


@elementwise
def hash_longs(words: Word, seeds: Word) -> Word:
    """Hash 8-byte values."""
    return _avalanche(_absorb_8(seeds + _P5 + np.uint64(8), words))


@kernel
def _word(data: npt.NDArray[np.uint8], at: int, width: int) -> np.uint64:
    """Read ``width`` bytes, least significant first."""
    word = np.uint64(0)
    for i in range(width):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@kernel
def _round(lane: np.uint64, word: np.uint64) -> np.uint64:
    return _rotate(lane + word * _P2, np.uint64(31)) * _P1


@kernel
def _hash_one(data: npt.NDArray[np.uint8], begin: int, end: int, seed: np.uint64) -> np.uint64:
    at = begin
    if end - begin >= 32:
        a, b, c, d = seed + _P1 + _P2, seed + _P2, seed, seed - _P1
        while at + 32 <= end:
            a = _round(a, _word(data, at, 8))
            b = _round(b, _word(data, at + 8, 8))
            c = _round(c, _word(data, at + 16, 8))
            d = _round(d, _word(data, at + 24, 8))
            at += 32
        x = _rotate(a, np.uint64(1)) + _rotate(b, np.uint64(7))
        x += _rotate(c, np.uint64(12)) + _rotate(d, np.uint64(18))
        for lane in (a, b, c, d):
            x = (x ^ _round(np.uint64(0), lane)) * _P1 + _P4
    else:
        x = seed + _P5
    x += np.uint64(end - begin)
    while at + 8 <= end:
        x = _absorb_8(x, _word(data, at, 8))
        at += 8
    if at + 4 <= end:
        x = _absorb_4(x, _word(data, at, 4))
        at += 4
    while at < end:
        x = _rotate(x ^ (np.uint64(data[at]) * _P5), np.uint64(11)) * _P1
        at += 1
    return _avalanche(x)


@kernel
def hash_bytes(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    seeds: KeyHashes,
    out: KeyHashes,
) -> None:
    """Fill ``out`` with the hash of ``data[offsets[i]:offsets[i + 1]]`` under ``seeds[i]``."""
    for i in range(out.shape[0]):
        out[i] = _hash_one(data, offsets[i], offsets[i + 1], seeds[i])
