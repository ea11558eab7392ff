"""A hash table from key hash to slot: open addressing, linear probing, no tombstones.

The table holds slots; the keys stand in the sketch's own array. It is kept at most half full, so a
look-up touches one or two places.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.hashing.mix import GOLDEN
from unskew.typing import KeyHashes

EMPTY = np.int32(-1)
_32 = np.uint64(32)


def new_table(slots: int) -> npt.NDArray[np.int32]:
    """Return an empty table for that many slots."""
    return np.full(2 << max(1, (slots - 1).bit_length()), EMPTY, np.int32)


@kernel
def _home(table: npt.NDArray[np.int32], key: np.uint64) -> np.int64:
    return np.int64((key * GOLDEN) >> _32) & np.int64(table.shape[0] - 1)


@kernel
def find(table: npt.NDArray[np.int32], keys: KeyHashes, key: np.uint64) -> np.int64:
    """Return the slot of ``key``, or -1."""
    at = _home(table, key)
    while table[at] != EMPTY:
        if keys[table[at]] == key:
            return np.int64(table[at])
        at = (at + 1) & (table.shape[0] - 1)
    return np.int64(-1)


@kernel
def insert(table: npt.NDArray[np.int32], key: np.uint64, slot: np.int64) -> None:
    """Enter a key that is not in the table."""
    at = _home(table, key)
    while table[at] != EMPTY:
        at = (at + 1) & (table.shape[0] - 1)
    table[at] = slot


@kernel
def index(table: npt.NDArray[np.int32], keys: KeyHashes, size: int) -> None:
    """Make the table anew, of the first ``size`` keys."""
    table[:] = EMPTY
    for slot in range(size):
        insert(table, keys[slot], np.int64(slot))


@kernel
def remove(table: npt.NDArray[np.int32], keys: KeyHashes, slot: np.int64) -> None:
    """Take out the key of ``slot``, and close the gap so that every key is still found."""
    last = table.shape[0] - 1
    gap = _home(table, keys[slot])
    while table[gap] != slot:
        gap = (gap + 1) & last
    at = (gap + 1) & last
    while table[at] != EMPTY:
        # A key may move back into the gap unless its home lies behind the gap.
        if ((at - _home(table, keys[table[at]])) & last) >= ((at - gap) & last):
            table[gap] = table[at]
            gap = at
        at = (at + 1) & last
    table[gap] = EMPTY
