"""Checks of settings, before anything is built from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from unskew.errors import InvalidParameterError


def check_whole(name: str, value: Any, low: int, high: int) -> int:
    """Return a whole number in [low, high] as a Python int; refuse anything else."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool | np.timedelta64):
        raise InvalidParameterError(name, value, "a whole number")
    if value < low:
        raise InvalidParameterError(name, value, f"at least {low}")
    if value > high:
        raise InvalidParameterError(name, value, f"at most {high}")
    return int(value)


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
