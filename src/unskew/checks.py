"""Checks of settings, before anything is built from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from unskew.errors import InvalidInputError, InvalidParameterError, InvalidTypeError


def check_whole(name: str, value: Any, low: int, high: int) -> int:
    """Return a whole number in [low, high] as a Python int; refuse anything else."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool | np.timedelta64):
        raise InvalidParameterError(name, value, "a whole number")
    if value < low:
        raise InvalidParameterError(name, value, f"at least {low}")
    if value > high:
        raise InvalidParameterError(name, value, f"at most {high}")
    return int(value)


def check_number(name: str, value: Any, low: float, high: float = math.inf) -> float:
    """Return a finite number in [low, high] as a Python float; refuse anything else."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    is_other = isinstance(value, bool | np.timedelta64)
    if not is_number or is_other or not (low <= value <= high and value < math.inf):
        open_ended = f"a finite number, at least {low:g}"
        expected = open_ended if high == math.inf else f"a number from {low:g} to {high:g}"
        raise InvalidParameterError(name, value, expected)
    return float(value)


def check_share(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1 as a Python float; refuse anything else."""
    if not isinstance(value, float | np.floating):
        raise InvalidParameterError(name, value, "a number in (0, 1)")
    if not 0 < value < 1:
        raise InvalidParameterError(name, value, "a number in (0, 1)")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """Return True or False; refuse anything else."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameterError(name, value, "True or False")
    return bool(value)


def check_capacities(capacities: Any, n_workers: int) -> tuple[float, ...] | None:
    """Return the relative speeds of the workers as Python floats; None where all are alike."""
    if capacities is None:
        return None
    if not isinstance(capacities, Sequence | np.ndarray) or isinstance(capacities, str | bytes):
        raise InvalidTypeError(
            "capacities", f"a {type(capacities).__name__}", "pass one number for each worker"
        )
    if len(capacities) != n_workers:
        raise InvalidInputError(
            "capacities",
            f"has {len(capacities)} values for {n_workers} workers",
            "pass one for each worker",
        )
    for worker, capacity in enumerate(capacities):
        is_number = isinstance(capacity, int | float | np.number) and not isinstance(capacity, bool)
        if not (is_number and MIN_CAPACITY <= capacity <= MAX_CAPACITY):
            raise InvalidInputError(
                "capacities",
                f"is {capacity!r} for worker {worker}",
                f"pass speeds from {MIN_CAPACITY:g} to {MAX_CAPACITY:g}; for a worker that is to "
                "get nothing, resize",
            )
    return tuple(map(float, capacities))


MIN_CAPACITY, MAX_CAPACITY = 1e-6, 1e6
"""Speeds are relative; wider apart than this, the slowest workers round to nothing."""
