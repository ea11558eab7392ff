"""Means, from sums and counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from unskew.window.aggregator import Aggregator
from unskew.window.columns import as_numpy, check_name, check_number, nullable, numbers
from unskew.window.groups import Groups
from unskew.window.segments import sums_of, whole_sums_of

_PARTIAL = pa.schema([("count", pa.int64()), ("sum", pa.float64())])
_RESULT = pa.schema([("mean", pa.float64())])


@dataclass(frozen=True, slots=True)
class Mean(Aggregator):
    """Average the values of a column as Spark's ``avg`` does.

    Numbers are added as doubles; nulls are left out, a NaN makes the mean NaN, and a key without
    a value has the mean null.

    >>> from unskew.window import group_rows
    >>> rows = pa.record_batch({"key": ["a", "a", "b"], "x": [1, 4, None]})
    >>> mean = Mean("x")
    >>> mean.finish(mean.compute(rows, group_rows([rows["key"]]))).to_pydict()
    {'mean': [2.5, None]}
    """

    column: str

    def __post_init__(self) -> None:
        check_name("column", self.column)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The column that is averaged."""
        return (self.column,)

    def partial_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return a count and a sum."""
        check_number(inputs, self.column)
        return _PARTIAL

    def result_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return one mean."""
        check_number(inputs, self.column)
        return _RESULT

    def compute(self, rows: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Count and add."""
        values, codes = numbers(rows, self.column, groups)
        counts = np.bincount(codes, minlength=groups.size)
        sums = sums_of(codes, groups.size, values)
        return pa.RecordBatch.from_arrays([pa.array(counts), pa.array(sums)], schema=_PARTIAL)

    def merge(self, partials: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Add both."""
        counts = whole_sums_of(groups.codes, groups.size, as_numpy(partials.column("count")))
        sums = sums_of(groups.codes, groups.size, as_numpy(partials.column("sum")))
        return pa.RecordBatch.from_arrays([pa.array(counts), pa.array(sums)], schema=_PARTIAL)

    def finish(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """Divide."""
        counts, sums = as_numpy(partials.column("count")), as_numpy(partials.column("sum"))
        means = nullable(sums / np.maximum(counts, 1), counts == 0)
        return pa.RecordBatch.from_arrays([means], schema=_RESULT)
