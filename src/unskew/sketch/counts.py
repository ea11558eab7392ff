"""What a sketch answers: keys, their counts, and how far a count may be off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.errors import SnapshotMismatchError
from unskew.typing import AnyArray, KeyHashes


class Counts(NamedTuple):
    """Keys with their counts; the error bounds what a count may be off by."""

    keys: KeyHashes
    counts: npt.NDArray[np.float64]
    errors: npt.NDArray[np.float64]

    def heaviest_first(self) -> Counts:
        """Order the keys; among equals the lowest key hash comes first, so the order is fixed."""
        order = np.lexsort((self.keys, -self.counts))
        return Counts(self.keys[order], self.counts[order], self.errors[order])

    def at_least(self, threshold: float) -> Counts:
        """Keep the keys whose count reaches the threshold."""
        kept = self.counts >= threshold
        return Counts(self.keys[kept], self.counts[kept], self.errors[kept])

    def top(self, k: int) -> Counts:
        """Keep the first ``k``."""
        return Counts(self.keys[:k], self.counts[:k], self.errors[:k])

    def arrays(self) -> dict[str, AnyArray]:
        """Return copies by name, for a snapshot."""
        return {name: column.copy() for name, column in zip(self._fields, self, strict=True)}

    @classmethod
    def of(cls, snapshot: dict[str, AnyArray]) -> Counts:
        """Return the columns of a snapshot, which must be of one length, a key in one place."""
        lengths = [len(snapshot[name]) for name in cls._fields]
        if len(set(lengths)) > 1:
            raise SnapshotMismatchError("lengths of columns", lengths, lengths[:1] * 3)
        if len(np.unique(snapshot["keys"])) < lengths[0]:
            raise SnapshotMismatchError("keys", "some key twice", "each key once")
        return cls(*(snapshot[name] for name in cls._fields))

    def __repr__(self) -> str:
        columns = zip(self._fields, self, strict=True)
        return f"Counts({', '.join(f'{name}={column.tolist()}' for name, column in columns)})"
