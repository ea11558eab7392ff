"""Checks of what comes in, before any state changes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from unskew.errors import InvalidInputError, InvalidTypeError, SnapshotMismatchError
from unskew.typing import AnyArray, KeyHashes, Weights

_ALL_ONE = np.empty(0, np.float64)
MAX_WEIGHT = 1e200
"""Far above any cost, and far enough below infinity that no sum of weights reaches it."""


def as_hashes(hashes: Any) -> KeyHashes:
    """Return key hashes as a read-only 1-D uint64 array, without a copy where possible.

    int64 is taken as it is, bit for bit: Spark's ``xxhash64`` is a signed long.
    """
    array = _one_dimension("hashes", hashes)
    if array.dtype.kind not in "iu" or array.dtype.itemsize != 8:
        raise InvalidTypeError(
            "hashes",
            f"an array of {array.dtype}",
            "pass 64-bit key hashes: unskew.hashing.hash_keys(keys)",
        )
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return as_readonly(native.view(np.uint64))


def as_weights(weights: Any, length: int) -> Weights:
    """Return the cost of each tuple; an empty array where none are given."""
    if weights is None:
        return as_readonly(_ALL_ONE)
    array = _one_dimension("weights", weights)
    if array.dtype.kind not in "iuf":
        raise InvalidTypeError("weights", f"an array of {array.dtype}", "pass real numbers")
    if len(array) != length:
        raise InvalidInputError(
            "weights", f"has {len(array)} values for {length} tuples", "pass one for each tuple"
        )
    array = array.astype(np.float64, copy=False)
    wrong = np.flatnonzero(~((array >= 0) & (array <= MAX_WEIGHT)))
    if wrong.size:
        raise InvalidInputError(
            "weights",
            f"is {array[wrong[0]]} at position {wrong[0]}",
            f"pass numbers from 0 to {MAX_WEIGHT:g}",
        )
    return as_readonly(array)


def as_times(times: Any, length: int) -> Weights:
    """Return the time of each tuple, from that of all or of each; empty where none is given."""
    if times is None:
        return as_readonly(_ALL_ONE)
    if isinstance(times, int | float | np.integer | np.floating) and not isinstance(times, bool):
        times = np.full(length, times, np.float64)
    array = _one_dimension("times", times)
    if array.dtype.kind not in "iuf":
        raise InvalidTypeError("times", f"an array of {array.dtype}", "pass seconds as numbers")
    if len(array) != length:
        raise InvalidInputError(
            "times", f"has {len(array)} values for {length} tuples", "pass one for each, or for all"
        )
    array = array.astype(np.float64, copy=False)
    wrong = np.flatnonzero(~((array >= 0) & (array < np.inf)))
    if wrong.size:
        raise InvalidInputError(
            "times",
            f"is {array[wrong[0]]} at position {wrong[0]}",
            "pass seconds from 0 up, counted from any fixed moment",
        )
    return as_readonly(array)


def _one_dimension(name: str, values: Any) -> AnyArray:
    if not isinstance(values, np.ndarray):
        raise InvalidTypeError(name, f"a {type(values).__name__}", "pass a 1-D NumPy array")
    if values.ndim != 1:
        raise InvalidInputError(name, f"has {values.ndim} dimensions", "pass a 1-D array")
    return values


def as_readonly(array: AnyArray) -> AnyArray:
    """Return a contiguous, read-only view.

    Kernels are compiled for the kind of array they get; with one kind there is one form of each.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def check_arrays(
    found: dict[str, AnyArray], expected: dict[str, AnyArray], of_any_length: Collection[str] = ()
) -> None:
    """Refuse the arrays of a snapshot unless they have the names, types and shapes expected.

    All that is counted or weighed is finite and not negative.
    """
    if found.keys() != expected.keys():
        raise SnapshotMismatchError("arrays", sorted(found), sorted(expected))
    for name, array in expected.items():
        ours, theirs = (
            (each.dtype.str, each.ndim if name in of_any_length else each.shape)
            for each in (array, found[name])
        )
        if theirs != ours:
            raise SnapshotMismatchError(f"array `{name}`", theirs, ours)
        if not np.all((found[name] >= 0) & (found[name] < np.inf)):
            raise SnapshotMismatchError(f"array `{name}`", found[name].min(), "no such number")
