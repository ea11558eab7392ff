"""Sums, of the type that Spark gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.typing import AnyArray
from unskew.window.aggregator import Aggregator
from unskew.window.columns import as_numpy, check_name, nullable, present, type_of
from unskew.window.groups import Codes, Groups
from unskew.window.segments import sums_of, whole_sums_of

_MAX_DIGITS = 38


@dataclass(frozen=True, slots=True)
class Sum(Aggregator):
    """Add up the values of a column; nulls are left out, and a key with nothing else has null.

    Types are those of Spark's ``sum``: whole numbers give int64, floating ones double, and
    decimals decimals of ten more digits. A sum that does not fit is refused, as by Spark in ANSI
    mode: that of a batch or of merged partials too, where later values would have made up for it.
    Whole numbers and decimals are exact.

    >>> from unskew.window import group_rows
    >>> rows = pa.record_batch({"key": ["a", "b", "a"], "x": [1, None, 4]})
    >>> Sum("x").compute(rows, group_rows([rows["key"]])).to_pydict()
    {'sum': [5, None]}
    """

    column: str

    def __post_init__(self) -> None:
        check_name("column", self.column)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The column of summands."""
        return (self.column,)

    def partial_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return one sum, of a type that follows from that of the column."""
        return pa.schema([("sum", _sum_type(self.column, type_of(inputs, self.column)))])

    def result_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return one sum."""
        return self.partial_schema(inputs)

    def compute(self, rows: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Add up rows."""
        schema = self.partial_schema(rows.schema)
        return self._add(rows, self.column, groups, schema)

    def merge(self, partials: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Add up sums."""
        schema = pa.schema([("sum", partials.schema.field("sum").type)])
        return self._add(partials, "sum", groups, schema)

    def finish(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """Return the sums as they are."""
        return partials.select(["sum"])

    def _add(
        self, batch: pa.RecordBatch, name: str, groups: Groups, schema: pa.Schema
    ) -> pa.RecordBatch:
        values, codes = present(batch, name, groups)
        kind = schema.field("sum").type
        try:
            sums = _sums(values, codes, groups.size, kind)
        except OverflowError:
            raise InvalidInputError(
                self.column,
                f"adds up to more than {kind} holds, in some key",
                "cast it to double" if pa.types.is_decimal(kind) else "cast it to decimal(28, 0)",
            ) from None
        return pa.RecordBatch.from_arrays([sums], schema=schema)


def _sum_type(name: str, kind: pa.DataType) -> pa.DataType:
    if pa.types.is_decimal128(kind):
        return pa.decimal128(min(kind.precision + 10, _MAX_DIGITS), kind.scale)
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return pa.int64()
    if pa.types.is_floating(kind) or pa.types.is_null(kind):
        return pa.float64()
    raise InvalidTypeError(
        name, f"a column of {kind}", "cast it to a signed whole number, a double or a decimal"
    )


def _sums(values: pa.Array, codes: Codes, size: int, kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        return _decimal_sums(values, codes, size, kind)
    if pa.types.is_integer(kind):
        sums = _whole_sums(as_numpy(values).astype(np.int64, copy=False), codes, size)
    else:
        sums = sums_of(codes, size, as_numpy(values).astype(np.float64, copy=False))
    return nullable(sums, np.bincount(codes, minlength=size) == 0)


def _whole_sums(values: npt.NDArray[np.int64], codes: Codes, size: int) -> AnyArray:
    sums = whole_sums_of(codes, size, values)
    largest = max(int(values.max()), -int(values.min())) if len(values) else 0
    if largest * len(values) > np.iinfo(np.int64).max:
        # The halves of the numbers cannot overflow; the upper one shows whether the whole did.
        upper = whole_sums_of(codes, size, values >> 32)
        upper += whole_sums_of(codes, size, values & 0xFFFFFFFF) >> 32
        if np.any((upper < -(2**31)) | (upper >= 2**31)):
            raise OverflowError
    return sums


def _decimal_sums(values: pa.Array, codes: Codes, size: int, kind: pa.DataType) -> pa.Array:
    """Add up in twice the digits, which is always enough."""
    wide = values.cast(pa.decimal256(2 * _MAX_DIGITS, kind.scale))
    table = pa.table({"code": codes, "value": wide})
    sums = table.group_by("code", use_threads=False).aggregate([("value", "sum")])
    row, missing = np.zeros(size, np.int64), np.ones(size, np.bool_)
    found = as_numpy(sums.column("code").combine_chunks())
    row[found], missing[found] = np.arange(len(found)), False
    try:
        narrow = sums.column("value_sum").combine_chunks().cast(kind)
    except pa.ArrowInvalid:
        raise OverflowError from None
    return narrow.take(nullable(row, missing))
