"""How often keys come: what sources have counted, and the shares that follow from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.hashing.arrays import as_hashes, as_weights
from unskew.typing import AnyArray, KeyHashes, Loads

_ROUNDING = 1 + 1e-6


class Counted(NamedTuple):
    """Keys with their counts, and the weight of all tuples, those of other keys included."""

    keys: KeyHashes
    counts: Loads
    total: float

    @classmethod
    def nothing(cls) -> Counted:
        """Return what a source has counted that has seen no tuple."""
        return cls(np.empty(0, np.uint64), np.empty(0), 0.0)

    @classmethod
    def together(cls, each: Iterable[Counted]) -> Counted:
        """Return what several sources have counted together."""
        parts = (cls.nothing(), *each)
        keys, place = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
        counts: Loads = np.zeros(len(keys))
        np.add.at(counts, place, np.concatenate([part.counts for part in parts]))
        return cls(keys, counts, sum(part.total for part in parts))

    def heaviest(self, most: int) -> Counted:
        """Return the ``most`` heaviest keys alone; the total stays."""
        if len(self.keys) <= most:
            return self
        kept = np.sort(np.lexsort((self.keys, -self.counts))[:most])
        return Counted(self.keys[kept], self.counts[kept], self.total)

    def faded(self, share: float) -> Counted:
        """Return the same keys with a share of their weight."""
        return Counted(self.keys, self.counts * share, self.total * share)

    def checked(self) -> Counted:
        """Return the same with arrays of the right kind; refuse what nothing can have counted."""
        keys = as_hashes(self.keys)
        counts = as_weights(self.counts, len(keys))
        if counts.shape != keys.shape:
            raise InvalidTypeError("counts", "None", "pass one for each key")
        if not isinstance(self.total, int | float | np.number):
            raise InvalidTypeError("total", f"a {type(self.total).__name__}", "pass a number")
        if not counts.sum() <= self.total * _ROUNDING < np.inf:
            raise InvalidInputError(
                "total",
                f"is {self.total}, and the counts sum to {counts.sum():g}",
                "pass the weight of all tuples counted",
            )
        _check_once(keys)
        return Counted(keys, counts, float(self.total))


class Frequencies:
    """Keys and their shares of the tuples, the heaviest first; f in the paper.

    >>> counted = Counted(np.array([7, 8], np.uint64), np.array([1.0, 3.0]), total=8.0)
    >>> frequencies = Frequencies.counted(counted)
    >>> frequencies.keys.tolist(), frequencies.shares.tolist()
    ([8, 7], [0.375, 0.125])
    >>> frequencies.of(np.array([7, 9], np.uint64)).tolist()
    [0.125, 0.0]
    """

    def __init__(self, keys: KeyHashes, shares: AnyArray) -> None:
        keys, shares = as_hashes(keys), np.asarray(shares, np.float64)
        if shares.shape != keys.shape:
            raise InvalidInputError(
                "shares", f"has {shares.size} values for {len(keys)} keys", "pass one for each key"
            )
        if not np.all((shares >= 0) & (shares <= 1)) or shares.sum() > _ROUNDING:
            raise InvalidInputError(
                "shares",
                f"sum to {shares.sum():g}",
                "pass shares from 0 to 1 that sum to 1 or less",
            )
        _check_once(keys)
        order = np.lexsort((keys, -shares))
        self.keys: KeyHashes = keys[order]
        self.shares: Loads = shares[order]
        self._by_key = np.argsort(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"Frequencies({len(self)} keys, {self.shares.sum():.3f} of the tuples)"

    @classmethod
    def counted(cls, counted: Counted) -> Frequencies:
        """Return shares of what was counted; of no key where nothing was."""
        keys, counts, total = counted.checked()
        return cls(keys, np.minimum(counts / total, 1.0)) if total else cls(keys[:0], counts[:0])

    def of(self, keys: KeyHashes) -> Loads:
        """Return the shares of keys, 0 for those that are not known."""
        if not len(self):
            return np.zeros(len(keys))
        at = np.searchsorted(self.keys, keys, sorter=self._by_key)
        place = self._by_key[np.minimum(at, len(self) - 1)]
        return np.where(self.keys[place] == keys, self.shares[place], 0.0)


def _check_once(keys: KeyHashes) -> None:
    if len(np.unique(keys)) < len(keys):
        raise InvalidInputError("keys", "has a key twice", "pass each key once")
