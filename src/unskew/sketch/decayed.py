"""SpaceSaving whose counts fade from epoch to epoch, so that it holds the keys hot of late.

FISH Alg. 1 (sec. 4.1.1). Every ``epoch`` tuples all counts are multiplied by ``decay``. The paper
compares a counter with theta of all tuples ever seen, which no faded counter reaches: here the
total fades alike, and shares stay shares. Errors fade with their counts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.errors import InvalidParameterError
from unskew.hashing.arrays import as_hashes, as_weights
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
        if position[0] == epoch:
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
        if epoch < 1:
            raise InvalidParameterError("epoch", epoch, "at least 1 tuple")
        if not 0 < decay < 1:
            raise InvalidParameterError("decay", decay, "a factor in (0, 1)")
        self.epoch = epoch
        self.decay = decay
        self._position = np.zeros(1, np.int64)

    def update(self, hashes: KeyHashes, weights: npt.ArrayLike | None = None) -> None:
        """Count tuples in the order given; an epoch ends before the tuple that follows it."""
        checked = as_hashes(hashes)
        costs = as_weights(weights, len(checked))
        _count_decayed(self.summary, checked, costs, self.epoch, self.decay, self._position)

    def snapshot(self) -> dict[str, AnyArray]:
        """Return arrays from which `resume` goes on, within the epoch."""
        return super().snapshot() | {"position": self._position.copy()}

    def load(self, snapshot: dict[str, AnyArray]) -> None:
        """Take the counters of a snapshot in place of those held."""
        super().load(snapshot)
        self._position[:] = snapshot["position"]
