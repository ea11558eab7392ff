"""Whole units - virtual workers, key groups - shared out among workers of different capacity."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unskew.typing import Loads

Counts = npt.NDArray[np.int64]
_ROUNDING = 1e-9


def apportion(units: int, shares: Loads, held: Counts | None = None) -> Counts:
    """Return how many of the units each worker gets, by its share, and at least one.

    A worker gets its quota, rounded up or down. The units left over by rounding down stay, as far
    as possible, where they are ``held``, so that as few as possible change hands; the others go to
    the largest remainders. There must be a unit for each worker.

    >>> apportion(10, np.array([0.55, 0.25, 0.2]))
    array([6, 2, 2])
    >>> apportion(10, np.array([0.55, 0.25, 0.2]), held=np.array([5, 3, 2]))
    array([5, 3, 2])
    """
    quotas = _quotas(units, shares)
    counts = np.floor(quotas + _ROUNDING).astype(np.int64)
    keeps = np.zeros(len(shares), np.bool_) if held is None else held > counts
    left_over = units - int(counts.sum())
    remainders = np.round(quotas - counts, 9)  # those that are equal up to rounding are equal
    counts[np.lexsort((-remainders, ~keeps))[:left_over]] += 1
    return counts


def _quotas(units: int, shares: Loads) -> Loads:
    """Return the exact number of units by share; those who would get less than one get one."""
    poor = np.zeros(len(shares), np.bool_)
    while True:
        rest = units - int(poor.sum())
        quotas = np.where(poor, 1.0, shares * (rest / shares[~poor].sum()))
        if np.all(quotas >= 1 - _ROUNDING):
            return quotas
        poor |= quotas < 1 - _ROUNDING
