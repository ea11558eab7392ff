"""SpaceSaving whose counts fade from epoch to epoch, so that it holds the keys hot of late.

FISH Alg. 1 (sec. 4.1.1). Every ``epoch`` tuples all counts are multiplied by ``decay``. The paper
compares a counter with theta of all tuples ever seen, which no faded counter reaches: here the
total fades alike, and shares stay shares. Errors fade with their counts.
"""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.checks import check_share, check_whole
from unskew.errors import InvalidInputError, SnapshotMismatchError
from unskew.hashing.arrays import as_hashes, as_weights, check_arrays
from unskew.sketch.counts import Counts
from unskew.sketch.least import use_heap
from unskew.sketch.space_saving import SpaceSaving, Summary, count_tuple
from unskew.typing import AnyArray, KeyHashes, Weights


@kernel
def fade(summary: Summary, decay: float) -> None:
    """Multiply all counts by ``decay``."""
    size = summary.size[0]
    for slot in range(size):
        summary.counts[slot] *= decay
        summary.errors[slot] *= decay
    summary.total[0] *= decay
    use_heap(summary.counts, summary.order)


@kernel
def _count_decayed(
    summary: Summary,
    hashes: KeyHashes,
    weights: Weights,
    epoch: int,
    decay: float,
    position: npt.NDArray[np.int64],
) -> None:
    for i in range(hashes.shape[0]):
        if position[0] >= epoch:
            fade(summary, decay)
            position[0] = 0
        count_tuple(summary, hashes[i], weights[i] if weights.shape[0] else 1.0)
        position[0] += 1


class DecayedSpaceSaving(SpaceSaving):
    """Count keys, the recent ones more.

    >>> sketch = DecayedSpaceSaving(capacity=4, epoch=3, decay=0.5)
    >>> sketch.update(np.array([7, 7, 7, 8], np.uint64))
    >>> sketch.tracked().counts.tolist()
    [1.5, 1.0]
    """

    def __init__(self, capacity: int, epoch: int = 1000, decay: float = 0.2) -> None:
        super().__init__(capacity)
        self.epoch = check_whole("epoch", epoch, 1, 2**62)
        self.decay = check_share("decay", decay)
        self._position = np.zeros(1, np.int64)

    def update(self, hashes: KeyHashes, weights: AnyArray | None = None) -> None:
        """Count tuples in the order given; an epoch ends before the tuple that follows it."""
        checked = as_hashes(hashes)
        costs = as_weights(weights, len(checked))
        _count_decayed(self.summary, checked, costs, self.epoch, self.decay, self._position)

    def merge(self, other: Self) -> Self:
        """Return the summary of both streams, as far into its epoch as the further one."""
        merged = super().merge(other)
        if (other.epoch, other.decay) != (self.epoch, self.decay):
            raise InvalidInputError(
                "other",
                f"has epochs of {other.epoch} tuples that fade by {other.decay}, "
                f"this sketch of {self.epoch} by {self.decay}",
                "merge sketches that fade alike",
            )
        merged._position[:] = np.maximum(self._position, other._position)
        return merged

    def snapshot(self) -> dict[str, AnyArray]:
        """Return arrays from which `load` goes on, within the epoch."""
        return super().snapshot() | {
            "epoch": np.array([self.epoch]),
            "decay": np.array([self.decay]),
            "position": self._position.copy(),
        }

    def load(self, snapshot: dict[str, AnyArray]) -> None:
        """Take the counters of a snapshot in place of those held."""
        check_arrays(snapshot, self.snapshot(), of_any_length=Counts._fields)
        fades = (int(snapshot["epoch"][0]), float(snapshot["decay"][0]))
        if fades != (self.epoch, self.decay):
            raise SnapshotMismatchError("epoch and decay", fades, (self.epoch, self.decay))
        if snapshot["position"][0] > self.epoch:
            raise SnapshotMismatchError("position", int(snapshot["position"][0]), self.epoch)
        super().load(snapshot)
        self._position[:] = snapshot["position"]

    def _empty(self) -> Self:
        return type(self)(self.capacity, self.epoch, self.decay)
