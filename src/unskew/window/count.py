"""How many: the rows of a key, or the values of a column that are not null."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from unskew.window.aggregator import Aggregator
from unskew.window.columns import as_numpy, check_name, present, type_of
from unskew.window.groups import Groups
from unskew.window.segments import whole_sums_of

_COUNT = pa.schema([("count", pa.int64())])


@dataclass(frozen=True, slots=True)
class Count(Aggregator):
    """Count the rows of each key, or only those where ``column`` is not null, as Spark does.

    Exact. NaN is a value.

    >>> from unskew.window import group_rows
    >>> rows = pa.record_batch({"key": ["a", "a", "b"], "x": [1.0, None, None]})
    >>> groups = group_rows([rows["key"]])
    >>> Count().compute(rows, groups).to_pydict()
    {'count': [2, 1]}
    >>> Count("x").compute(rows, groups).to_pydict()
    {'count': [1, 0]}
    """

    column: str | None = None

    def __post_init__(self) -> None:
        if self.column is not None:
            check_name("column", self.column)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The column whose values are counted, if any."""
        return () if self.column is None else (self.column,)

    def partial_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return one count."""
        if self.column is not None:
            type_of(inputs, self.column)
        return _COUNT

    def result_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return one count."""
        return self.partial_schema(inputs)

    def compute(self, rows: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Count what is there."""
        codes = groups.codes if self.column is None else present(rows, self.column, groups)[1]
        counts = np.bincount(codes, minlength=groups.size)
        return pa.RecordBatch.from_arrays([pa.array(counts, pa.int64())], schema=_COUNT)

    def merge(self, partials: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Add the counts."""
        counts = whole_sums_of(groups.codes, groups.size, as_numpy(partials.column("count")))
        return pa.RecordBatch.from_arrays([pa.array(counts)], schema=_COUNT)

    def finish(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """Return the counts as they are."""
        return partials.select(["count"])
