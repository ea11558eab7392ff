"""Array types, named in the vocabulary of the project."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

KeyHashes: TypeAlias = npt.NDArray[np.uint64]
"""One 64-bit hash a tuple."""

Workers: TypeAlias = npt.NDArray[np.int32]
"""One worker in [0, n) a tuple."""

Weights: TypeAlias = npt.NDArray[np.float64]
"""The cost of each tuple; an empty array means that every tuple costs 1."""

Loads: TypeAlias = npt.NDArray[np.float64]
"""What each worker was given so far. Whole numbers are exact up to 2**53."""

AnyArray: TypeAlias = npt.NDArray[Any]
