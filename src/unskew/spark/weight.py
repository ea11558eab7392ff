"""What a row costs, where rows do not cost the same: a column of the frame, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql.types import BooleanType, NullType, NumericType, StringType

from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.hashing.arrays import MAX_WEIGHT
from unskew.spark.frames import resolve
from unskew.typing import Weights

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def weight_column(df: DataFrame, weight: str | Column) -> Column:
    """Return the weight as doubles, null where it is no number; refuse what never is one."""
    column = resolve(df, [weight], "weight")[0]
    kind = df.select(column).schema[0].dataType
    if not isinstance(kind, NumericType | BooleanType | StringType | NullType):
        raise InvalidTypeError("weight", f"of type {kind.simpleString()}", "pass numbers")
    return column.try_cast("double")


def checked_weights(weights: pa.Array | pa.ChunkedArray) -> Weights:
    """Return what came of a weight column, or refuse it."""
    values: Weights = weights.to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(~((values >= 0) & (values <= MAX_WEIGHT)))
    if wrong.size:
        found = "null or no number" if np.isnan(values[wrong[0]]) else values[wrong[0]]
        raise InvalidInputError(
            "weight", f"is {found} in some row", f"pass numbers from 0 to {MAX_WEIGHT:g}"
        )
    return values
