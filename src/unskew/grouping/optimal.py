"""What no grouping can beat: the fewest replicas with which loads can be even.

Offline, from the exact amount of every key. Two reasons make a key need more than one worker:

- it is larger than any worker may be loaded: it needs as many of the largest as hold it;
- it meets others of its size. Of keys above 1 / (j + 1) of the largest limit a worker holds at most
  j as a whole, so of more than n * j such keys some are split.

A key of the first kind is not counted again in the second. The bound need not be reached: to find
the fewest splits is to pack bins.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unskew.checks import check_whole
from unskew.errors import InvalidInputError
from unskew.hashing.candidates import MAX_WORKERS
from unskew.typing import AnyArray, Loads

_SIZES = 8


def least_workers(
    amounts: AnyArray, n_workers: int, tolerance: float = 0.0, shares: Loads | None = None
) -> npt.NDArray[np.int64]:
    """Return for each key on how many workers it must be at least, whatever the others need.

    ``amounts`` says how many tuples each key has. No worker gets more than ``1 + tolerance`` times
    its share of them, or its share rounded up to a whole tuple if that is more.

    >>> least_workers(np.array([60, 20, 10, 10]), n_workers=4)
    array([3, 1, 1, 1])
    """
    counts, limits = _checked(amounts, n_workers, tolerance, shares)
    needed: npt.NDArray[np.int64] = np.searchsorted(np.cumsum(limits), counts) + 1
    return needed


def least_replicas(
    amounts: AnyArray, n_workers: int, tolerance: float = 0.0, shares: Loads | None = None
) -> int:
    """Return how many replicas all keys have at least, together.

    >>> least_replicas(np.array([60, 20, 10, 10]), n_workers=4)  # 25 a worker
    6
    >>> least_replicas(np.array([20, 20, 20]), n_workers=2)  # 30 a worker: one must be split
    4
    """
    counts, limits = _checked(amounts, n_workers, tolerance, shares)
    needed = np.searchsorted(np.cumsum(limits), counts) + 1
    splits = int(needed.sum()) - len(counts)
    whole = counts[needed == 1]
    crowded = max(
        np.count_nonzero(whole > limits[0] / (j + 1)) - n_workers * j for j in range(1, _SIZES)
    )
    return len(counts) + splits + max(0, int(crowded))


def _checked(
    amounts: AnyArray, n_workers: int, tolerance: float, shares: Loads | None
) -> tuple[Loads, Loads]:
    """Return the amounts that are not 0, and what the workers may get, the largest first."""
    n = check_whole("n_workers", n_workers, 1, MAX_WORKERS)
    counts = np.asarray(amounts, np.float64)
    if counts.ndim != 1 or not np.all(counts >= 0) or not np.all(counts == np.floor(counts)):
        raise InvalidInputError("amounts", "is no list of counts", "pass tuples a key, 0 or more")
    if not 0 <= tolerance < np.inf:
        raise InvalidInputError("tolerance", f"is {tolerance}", "pass a number from 0 up")
    even = np.full(n, 1 / n) if shares is None else np.asarray(shares, np.float64)
    if even.shape != (n,) or not np.all(even > 0) or abs(even.sum() - 1) > 1e-9:
        raise InvalidInputError(
            "shares", "does not share the load out", f"pass {n} numbers that add up to 1"
        )
    levels = counts.sum() * even
    limits = np.maximum(np.floor(levels * (1 + tolerance) + 1e-9), np.ceil(levels - 1e-9))
    return counts[counts > 0], np.sort(limits)[::-1]
