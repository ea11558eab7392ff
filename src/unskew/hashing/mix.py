"""The 64-bit mix: every bit of the result depends on every bit of the input.

The finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", OOPSLA 2014), a bijection on 64-bit words. The papers use murmur3 or string hashes
with a salt; on a key that is already hashed a finalizer does the same work in five steps.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from unskew._kernel import elementwise
from unskew.typing import KeyHashes

Word = TypeVar("Word", np.uint64, KeyHashes)

_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: multiples of it are spread evenly over the words."""


@elementwise
def mix(x: Word) -> Word:
    """Mix a word, or each word of an array.

    >>> mix(np.array([0, 1, 2], np.uint64)).tolist()
    [0, 6238072747940578789, 15839785061582574730]
    """
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@elementwise
def spread(hashes: Word, salt: np.uint64) -> Word:
    """Mix key hashes under a salt: another salt, another and unrelated word for every key."""
    return mix(hashes + salt)


def salt_of(seed: int) -> np.uint64:
    """Return the salt of a seed. Seed 0 adds nothing."""
    return np.uint64(seed * int(GOLDEN) & 0xFFFFFFFFFFFFFFFF)
