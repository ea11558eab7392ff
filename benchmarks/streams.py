"""The streams that the benchmarks run on: Zipf over 10^4 keys, the same on every machine."""

from __future__ import annotations

import functools
import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unskew import hash_keys
from unskew.typing import KeyHashes

KEYS = 10_000
FULL = 10_000_000

# Of the ranks as little-endian int32, over the whole length.
SHA256 = {
    1.0: "eb1e40a25d3066dcdecdd25186201b20a61440e0fd298add7cc408a193b5d163",
    1.4: "4d521e5891a12cab9b239168a0b12452db4ab7671fca1518ab7fac4d4728a4b0",
    2.0: "764c7860458f091fc164a72e41894c954f2c8487549f9ae1a66b65b1f0ee7d59",
}


class Stream(NamedTuple):
    """Tuples of a stream: the rank of each key, from 1, and the hash of the rank as a string."""

    ranks: npt.NDArray[np.int32]
    hashes: KeyHashes

    def first(self, tuples: int) -> Stream:
        """Return the beginning of the stream."""
        return Stream(self.ranks[:tuples], self.hashes[:tuples])


def zipf(z: float, tuples: int = FULL) -> Stream:
    """Return a Zipf stream; z = 0 is uniform. A shorter stream is the beginning of a longer one.

    Where a checksum is known and the stream has its full length, a stream that differs is refused.
    """
    weights = 1 / np.arange(1, KEYS + 1) ** float(z)
    generator = np.random.Generator(np.random.PCG64(20240501 + round(10 * z)))
    cumulated = np.cumsum(weights / weights.sum())
    ranks = (np.searchsorted(cumulated, generator.random(tuples)) + 1).astype("<i4")
    if tuples == FULL and z in SHA256:
        found = hashlib.sha256(ranks.tobytes()).hexdigest()
        if found != SHA256[z]:
            raise RuntimeError(f"the Zipf {z} stream has SHA-256 {found}, expected {SHA256[z]}")
    return Stream(ranks, key_hashes()[ranks])


@functools.cache
def key_hashes() -> KeyHashes:
    """Return the hash of each rank; rank 0 does not occur, and rounding may yield KEYS + 1."""
    return hash_keys([str(rank) for rank in range(KEYS + 2)])
