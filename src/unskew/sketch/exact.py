"""An exact counter: the oracle of the sketches. Its memory grows with the number of keys."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unskew.hashing.arrays import as_hashes, as_weights
from unskew.sketch.counts import Counts
from unskew.typing import AnyArray, KeyHashes


class ExactCounter:
    """Count every key.

    >>> counter = ExactCounter()
    >>> counter.update(np.array([7, 8, 7], np.uint64))
    >>> counter.tracked()
    Counts(keys=[7, 8], counts=[2.0, 1.0], errors=[0.0, 0.0])
    """

    def __init__(self) -> None:
        self._keys = np.empty(0, np.uint64)
        self._counts: npt.NDArray[np.float64] = np.empty(0)

    @property
    def total(self) -> float:
        """The weight of all tuples counted."""
        return float(self._counts.sum())

    def __len__(self) -> int:
        return len(self._keys)

    def update(self, hashes: KeyHashes, weights: AnyArray | None = None) -> None:
        """Count tuples."""
        checked = as_hashes(hashes)
        costs = as_weights(weights, len(checked))
        arrived = costs if len(costs) else np.ones(len(checked))
        self._keys, place = np.unique(np.concatenate([self._keys, checked]), return_inverse=True)
        counts = np.concatenate([self._counts, arrived])
        self._counts = np.bincount(place, counts, len(self._keys)).astype(np.float64)

    def estimate(self, hashes: KeyHashes) -> npt.NDArray[np.float64]:
        """Return the counts of keys, 0 for those never seen."""
        checked = as_hashes(hashes)
        if not len(self):
            return np.zeros(len(checked))
        place = np.minimum(np.searchsorted(self._keys, checked), len(self) - 1)
        return np.where(self._keys[place] == checked, self._counts[place], 0.0)

    def tracked(self) -> Counts:
        """Return all keys, the heaviest first."""
        return Counts(self._keys, self._counts, np.zeros(len(self))).heaviest_first()

    def heavy(self, theta: float) -> Counts:
        """Return the keys whose share of the total reaches ``theta``."""
        return self.tracked().at_least(theta * self.total)
