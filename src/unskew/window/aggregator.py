"""The contract of an aggregator: partials of batches, merged, and the result of the whole.

A key that is split over workers has a partial on each of them. So what is computed of a key must
come from partials that can be merged, in any order and number:

    finish(merge(compute(a), compute(b))) == finish(compute(a + b))

All three steps take whole batches with many keys at once. `Groups` says which row belongs to which
key; row i of the answer belongs to group i.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import pyarrow as pa

from unskew.window.groups import Groups


class Aggregator(ABC):
    """What is computed of the tuples of each key; picklable, as it travels to the workers."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """The columns that `compute` needs, besides the key."""

    @abstractmethod
    def partial_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return the columns of a partial, for inputs of these types."""

    @abstractmethod
    def result_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return the columns of a result."""

    @abstractmethod
    def compute(self, rows: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Return one partial for each group of rows."""

    @abstractmethod
    def merge(self, partials: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Return one partial for each group of partials."""

    @abstractmethod
    def finish(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """Return the result of each partial, in order."""
