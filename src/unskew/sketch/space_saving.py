"""SpaceSaving: the heavy keys of a stream in a fixed number of counters.

Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data
streams", ICDT 2005; in 2CNE sec. III-A. A key without a counter takes over the least counter and
goes on from its value, which becomes the key's possible error. With N the total weight:

- a count is at least the true weight of its key and exceeds it by at most N / capacity;
- every key of weight above N / capacity has a counter.

Both hold for merged summaries with N the sum (Berinde et al., "Space-optimal heavy hitters with
strong error bounds", TODS 2010). To merge, a key that a full summary does not hold is taken to
have its least count there, which it may have had, and the ``capacity`` largest sums stay (Cafaro
et al., "A parallel space saving algorithm for frequent items and the Hurwitz zeta distribution",
Information Sciences 2016). A key that leaves has at most the least sum that stays, so at most
N / capacity: the counts of each summary sum to its total, and any capacity of them to no more.

A tuple that weighs 1 costs O(1) amortized, with flat arrays in place of the published lists of
equal counts (`least`). From the first tuple of another weight on, a key that takes over a counter
costs O(log capacity) amortized; one that has a counter always O(1).
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from unskew._kernel import inlined, kernel
from unskew.checks import check_share, check_whole
from unskew.errors import InvalidInputError, InvalidTypeError, SnapshotMismatchError
from unskew.hashing.arrays import as_hashes, as_weights, check_arrays
from unskew.sketch.counts import Counts
from unskew.sketch.least import Order, heed, least, new_order, renew
from unskew.sketch.table import find, index, insert, new_table, remove
from unskew.typing import AnyArray, KeyHashes, Weights

MAX_CAPACITY = 2**30  # slots are numbered in 32 bits, in a table of twice as many places


class Summary(NamedTuple):
    """The counters, as kernels see them; ``size`` and ``total`` are arrays of one number."""

    keys: KeyHashes
    counts: npt.NDArray[np.float64]
    errors: npt.NDArray[np.float64]
    table: npt.NDArray[np.int32]
    order: Order
    size: npt.NDArray[np.int64]
    total: npt.NDArray[np.float64]


def new_summary(capacity: int) -> Summary:
    """Return a summary without a key."""
    return Summary(
        keys=np.zeros(capacity, np.uint64),
        counts=np.zeros(capacity),
        errors=np.zeros(capacity),
        table=new_table(capacity),
        order=new_order(capacity),
        size=np.zeros(1, np.int64),
        total=np.zeros(1),
    )


@inlined
def count_tuple(summary: Summary, key: np.uint64, weight: float) -> np.int64:
    """Count one tuple; returns the slot of its key, or -1 if it weighs nothing and is unknown."""
    slot = find(summary.table, summary.keys, key)
    heed(weight, summary.counts, summary.order)
    summary.total[0] += weight
    if slot >= 0:
        summary.counts[slot] += weight
    elif weight > 0.0:
        slot = _free_slot(summary)
        summary.errors[slot] = summary.counts[slot]
        summary.counts[slot] += weight
        summary.keys[slot] = key
        insert(summary.table, key, slot)
    return slot


@inlined
def _free_slot(summary: Summary) -> np.int64:
    """Return a slot without a key: a new one, or the one of the least count."""
    slot = np.int64(summary.size[0])
    if slot < summary.keys.shape[0]:
        summary.size[0] += 1
    else:
        slot = least(summary.counts, summary.order)
        remove(summary.table, summary.keys, slot)
    return slot


@kernel
def _count(summary: Summary, hashes: KeyHashes, weights: Weights) -> None:
    for i in range(hashes.shape[0]):
        count_tuple(summary, hashes[i], weights[i] if weights.shape[0] else 1.0)


@kernel
def _look_up(summary: Summary, hashes: KeyHashes, out: npt.NDArray[np.float64]) -> None:
    for i in range(hashes.shape[0]):
        slot = find(summary.table, summary.keys, hashes[i])
        out[i] = summary.counts[slot] if slot >= 0 else 0.0


class SpaceSaving:
    """Count keys in at most ``capacity`` counters.

    >>> sketch = SpaceSaving(capacity=2)
    >>> sketch.update(np.array([7, 7, 8, 7, 9], np.uint64))
    >>> sketch.tracked()
    Counts(keys=[7, 9], counts=[3.0, 2.0], errors=[0.0, 1.0])
    >>> sketch.heavy(0.5).keys.tolist()
    [7]
    """

    def __init__(self, capacity: int) -> None:
        self.summary = new_summary(check_whole("capacity", capacity, 1, MAX_CAPACITY))

    @property
    def capacity(self) -> int:
        """How many keys can have a counter."""
        return len(self.summary.keys)

    @property
    def total(self) -> float:
        """The weight of all tuples counted."""
        return float(self.summary.total[0])

    def __len__(self) -> int:
        return int(self.summary.size[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} of {self.capacity} counters, {self.total:g})"

    def update(self, hashes: KeyHashes, weights: AnyArray | None = None) -> None:
        """Count tuples in the order given. A tuple of weight 0 takes no counter."""
        checked = as_hashes(hashes)
        _count(self.summary, checked, as_weights(weights, len(checked)))

    def estimate(self, hashes: KeyHashes) -> npt.NDArray[np.float64]:
        """Return the counts of keys, 0 for those without a counter."""
        checked = as_hashes(hashes)
        out = np.empty(len(checked))
        _look_up(self.summary, checked, out)
        return out

    def tracked(self) -> Counts:
        """Return all keys that have a counter, the heaviest first."""
        return self._columns().heaviest_first()

    def heavy(self, theta: float) -> Counts:
        """Return the keys whose count reaches ``theta`` of the total.

        None is missed whose true share does, as long as ``theta > 1 / capacity``.
        """
        return self.tracked().at_least(check_share("theta", theta) * self.total)

    def merge(self, other: Self) -> Self:
        """Return the summary of both streams, in as many counters as this one has."""
        if type(other) is not type(self):
            raise InvalidTypeError(
                "other", f"a {type(other).__name__}", f"merge it with a {type(self).__name__}"
            )
        if other.capacity != self.capacity:
            raise InvalidInputError(
                "other",
                f"has {other.capacity} counters, this sketch {self.capacity}",
                "merge sketches of one capacity, or the error bound is that of the smaller",
            )
        keys = np.union1d(self.tracked().keys, other.tracked().keys)
        counts, errors = np.zeros(len(keys)), np.zeros(len(keys))
        for sketch in (self, other):
            tracked = sketch.tracked()
            # An absent key may have had as much as the least counter has.
            unseen = tracked.counts[-1] if len(sketch) == sketch.capacity else 0.0
            place = np.searchsorted(keys, tracked.keys)
            own_counts, own_errors = np.full(len(keys), unseen), np.full(len(keys), unseen)
            own_counts[place], own_errors[place] = tracked.counts, tracked.errors
            counts += own_counts
            errors += own_errors
        kept = Counts(keys, counts, errors).heaviest_first().top(self.capacity)
        merged = self._empty()
        merged._restore(kept, self.total + other.total)
        return merged

    def snapshot(self) -> dict[str, AnyArray]:
        """Return arrays from which `load` goes on, slot by slot."""
        return self._columns().arrays() | {
            "total": self.summary.total.copy(),
            "capacity": np.array([self.capacity]),
        }

    def load(self, snapshot: dict[str, AnyArray]) -> None:
        """Take the counters of a snapshot in place of those held."""
        check_arrays(snapshot, self.snapshot(), of_any_length=Counts._fields)
        if int(snapshot["capacity"][0]) != self.capacity:
            raise SnapshotMismatchError("capacity", int(snapshot["capacity"][0]), self.capacity)
        columns = Counts.of(snapshot)
        if len(columns.keys) > self.capacity:
            raise SnapshotMismatchError("number of keys", len(columns.keys), self.capacity)
        self._restore(columns, float(snapshot["total"][0]))

    def _empty(self) -> Self:
        """Return a sketch of the same settings that has counted nothing."""
        return type(self)(self.capacity)

    def _columns(self) -> Counts:
        """Return the counters in the order of their slots."""
        size, held = len(self), self.summary
        return Counts(held.keys[:size], held.counts[:size], held.errors[:size])

    def _restore(self, columns: Counts, total: float) -> None:
        size = len(columns.keys)
        self.summary.size[0] = size
        for ours, given in zip(self._columns(), columns, strict=True):
            ours[:] = given
        self.summary.counts[size:] = 0.0
        self.summary.total[0] = total
        index(self.summary.table, self.summary.keys, size)
        renew(self.summary.order, self.summary.counts)
