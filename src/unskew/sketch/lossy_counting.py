"""Lossy counting: all keys above a share delta, none below delta - epsilon.

Manku and Motwani, "Approximate frequency counts over data streams", VLDB 2002; as Gedik
sec. 4.1.2 uses it. The stream falls into windows of 1 / epsilon; a key enters with an error of
the windows already closed, and when the i-th window closes, keys whose count and error sum to at
most i leave (the text writes c_f for the count c_a). Never more than O(1/epsilon * log(epsilon*N))
keys are held for tuples of weight 1; lighter ones stretch that by how much lighter they are.

With weights a window closes when the total weight passes a multiple of 1 / epsilon.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.checks import check_share
from unskew.errors import InvalidParameterError, SnapshotMismatchError
from unskew.hashing.arrays import as_hashes, as_weights, check_arrays
from unskew.sketch.counts import Counts
from unskew.sketch.table import find, index, insert, new_table
from unskew.typing import AnyArray, KeyHashes, Weights


class _Entries(NamedTuple):
    keys: KeyHashes
    counts: npt.NDArray[np.float64]
    errors: npt.NDArray[np.float64]
    table: npt.NDArray[np.int32]
    size: npt.NDArray[np.int64]
    total: npt.NDArray[np.float64]


@kernel
def _evict(entries: _Entries, closed: float) -> None:
    """Drop the keys that the ``closed`` windows rule out, keeping the order of the others."""
    kept = 0
    for slot in range(entries.size[0]):
        if entries.counts[slot] + entries.errors[slot] > closed:
            entries.keys[kept] = entries.keys[slot]
            entries.counts[kept] = entries.counts[slot]
            entries.errors[kept] = entries.errors[slot]
            kept += 1
    entries.size[0] = kept
    index(entries.table, entries.keys, kept)


@kernel
def _count_lossy(
    entries: _Entries, hashes: KeyHashes, weights: Weights, epsilon: float, start: int
) -> int:
    """Count from tuple ``start`` on; returns where it stopped for want of room, or the end."""
    total = entries.total[0]
    closed = np.floor(epsilon * total)
    for i in range(start, hashes.shape[0]):
        weight = weights[i] if weights.shape[0] else 1.0
        slot = find(entries.table, entries.keys, hashes[i])
        if slot >= 0:
            entries.counts[slot] += weight
        elif weight > 0.0:
            slot = np.int64(entries.size[0])
            if slot == entries.keys.shape[0]:
                entries.total[0] = total
                return i
            entries.keys[slot] = hashes[i]
            entries.counts[slot] = weight
            entries.errors[slot] = closed
            entries.size[0] += 1
            insert(entries.table, hashes[i], slot)
        total += weight
        now_closed = np.floor(epsilon * total)
        if now_closed > closed:
            _evict(entries, now_closed)
            closed = now_closed
    entries.total[0] = total
    return len(hashes)


class LossyCounting:
    """Count keys; forget those that stay below ``epsilon`` of the total.

    >>> sketch = LossyCounting(epsilon=0.25)
    >>> sketch.update(np.array([7, 7, 8, 9, 7, 7, 7, 10], np.uint64))
    >>> sketch.tracked()
    Counts(keys=[7], counts=[5.0], errors=[0.0])
    """

    def __init__(self, epsilon: float) -> None:
        self.epsilon = check_share("epsilon", epsilon)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._entries = _new_entries(64)

    @property
    def total(self) -> float:
        """The weight of all tuples counted."""
        return float(self._entries.total[0])

    def __len__(self) -> int:
        return int(self._entries.size[0])

    def __repr__(self) -> str:
        return f"LossyCounting(epsilon={self.epsilon}, {len(self)} keys, {self.total:g})"

    def update(self, hashes: KeyHashes, weights: AnyArray | None = None) -> None:
        """Count tuples in the order given."""
        checked = as_hashes(hashes)
        costs = as_weights(weights, len(checked))
        at = 0
        while (at := _count_lossy(self._entries, checked, costs, self.epsilon, at)) < len(checked):
            self._grow()

    def tracked(self) -> Counts:
        """Return all keys held, the heaviest first. A count is too low by at most its error."""
        return self._columns().heaviest_first()

    def heavy(self, delta: float) -> Counts:
        """Return every key whose share is above ``delta``, none below ``delta - epsilon``."""
        if not self.epsilon < delta < 1:
            raise InvalidParameterError("delta", delta, f"a share in ({self.epsilon}, 1)")
        return self.tracked().at_least((delta - self.epsilon) * self.total)

    def snapshot(self) -> dict[str, AnyArray]:
        """Return arrays from which `load` goes on."""
        return self._columns().arrays() | {
            "total": self._entries.total.copy(),
            "epsilon": np.array([self.epsilon]),
        }

    def load(self, snapshot: dict[str, AnyArray]) -> None:
        """Take the keys of a snapshot in place of those held."""
        check_arrays(snapshot, self.snapshot(), of_any_length=Counts._fields)
        if snapshot["epsilon"][0] != self.epsilon:
            raise SnapshotMismatchError("epsilon", float(snapshot["epsilon"][0]), self.epsilon)
        columns = Counts.of(snapshot)
        self._fill(columns, float(snapshot["total"][0]), max(64, len(columns.keys)))

    def _columns(self) -> Counts:
        """Return the keys held, in the order they came."""
        size, held = len(self), self._entries
        return Counts(held.keys[:size], held.counts[:size], held.errors[:size])

    def _grow(self) -> None:
        self._fill(self._columns(), self.total, 2 * len(self._entries.keys))

    def _fill(self, columns: Counts, total: float, capacity: int) -> None:
        self._entries = _new_entries(capacity)
        self._entries.size[0] = len(columns.keys)
        for ours, given in zip(self._columns(), columns, strict=True):
            ours[:] = given
        self._entries.total[0] = total
        index(self._entries.table, self._entries.keys, len(self))


def _new_entries(capacity: int) -> _Entries:
    return _Entries(
        keys=np.zeros(capacity, np.uint64),
        counts=np.zeros(capacity),
        errors=np.zeros(capacity),
        table=new_table(capacity),
        size=np.zeros(1, np.int64),
        total=np.zeros(1),
    )
