"""The columns of a batch as aggregators need them: found, of a fitting type, without nulls."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.errors import InvalidParameterError, InvalidTypeError, UnknownNameError
from unskew.window.groups import Codes, Groups


def check_name(parameter: str, value: Any) -> str:
    """Return the name of a column; refuse anything else."""
    if not isinstance(value, str) or not value:
        raise InvalidParameterError(parameter, value, "the name of a column")
    return value


def type_of(schema: pa.Schema, name: str) -> pa.DataType:
    """Return the type of a column's values, however they are stored."""
    if name not in schema.names:
        raise UnknownNameError("column", name, schema.names)
    kind = schema.field(name).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def check_number(schema: pa.Schema, name: str) -> None:
    """Refuse a column of anything but whole or floating numbers; one of nulls alone will do."""
    kind = type_of(schema, name)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise InvalidTypeError(name, f"a column of {kind}", "cast it to a number, such as double")


def present(rows: pa.RecordBatch, name: str, groups: Groups) -> tuple[pa.Array, Codes]:
    """Return the values of a column that are not null, and the group of each."""
    kind = type_of(rows.schema, name)
    column = rows.column(name)
    if isinstance(column, pa.DictionaryArray):
        column = column.cast(kind)
    if column.null_count == 0:
        return column, groups.codes
    valid = pc.is_valid(column)
    return column.filter(valid), groups.codes[valid.to_numpy(zero_copy_only=False)]


def numbers(
    rows: pa.RecordBatch, name: str, groups: Groups
) -> tuple[npt.NDArray[np.float64], Codes]:
    """Return the numbers of a column that are not null as doubles, and the group of each."""
    check_number(rows.schema, name)
    values, codes = present(rows, name, groups)
    return as_numpy(values).astype(np.float64, copy=False), codes


def as_numpy(column: pa.Array) -> npt.NDArray[Any]:
    """Return a column without nulls as an array."""
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def nullable(values: npt.NDArray[Any], is_null: npt.NDArray[np.bool_]) -> pa.Array:
    """Return an array as a column, with nulls where it says so."""
    return pa.array(values, mask=is_null)
