"""The most frequent values of a column, for each key: a SpaceSaving summary for each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from unskew.checks import check_whole
from unskew.errors import InvalidParameterError
from unskew.window.aggregator import Aggregator
from unskew.window.columns import as_numpy, check_name, present, type_of
from unskew.window.groups import Codes, Groups
from unskew.window.segments import from_lists, order_by_group, to_lists, whole_sums_of
from unskew.window.tally import Tally, check_countable, tally

MAX_CAPACITY = 2**20


@dataclass(frozen=True, slots=True)
class TopK(Aggregator):
    """Find the ``k`` most frequent values of a column, from ``capacity`` counters a key [1]_.

    An application of CG (sec. 8.2). Values come with the heaviest first, among equal counts with
    the least first.

    With N the values of a key that are not null: a ``count`` is at least the true one and exceeds
    it by at most its ``error``, which is at most N / capacity, however the key was split; and
    every value that occurs more often than N / capacity has a counter. A key with at most
    ``capacity`` different values is counted exactly. CG bounds the error of merged summaries by a
    sum over workers; with the merge of [2]_ the bound is that of one summary.

    A batch is counted exactly and then cut to its ``capacity`` largest counts, which keeps the
    guarantees of SpaceSaving with errors of 0. In a merge, a value that a summary does not hold
    may have been there as often as its least counter says, or as there are values that its
    counters do not account for, whichever is less.

    >>> from unskew.window import group_rows
    >>> rows = pa.record_batch({"key": ["a"] * 4 + ["b"], "x": ["u", "v", "v", "w", "u"]})
    >>> top = TopK("x", k=1)
    >>> top.finish(top.compute(rows, group_rows([rows["key"]]))).to_pylist()[0]
    {'top': [{'value': 'v', 'count': 2, 'error': 0}]}

    .. [1] Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements
       in data streams", ICDT 2005; see `unskew.sketch.space_saving`.
    .. [2] Cafaro et al., "A parallel space saving algorithm for frequent items and the Hurwitz
       zeta distribution", Information Sciences 2016.
    """

    column: str
    k: int
    capacity: int | None = None
    """At least ``k``; by default four times that, and no less than 64."""

    def __post_init__(self) -> None:
        check_name("column", self.column)
        k = check_whole("k", self.k, 1, MAX_CAPACITY)
        if self.capacity is not None:
            check_whole("capacity", self.capacity, 1, MAX_CAPACITY)
            if self.capacity < k:
                raise InvalidParameterError("capacity", self.capacity, f"at least k, {k}")

    @property
    def counters(self) -> int:
        """How many values of a key can have a counter."""
        if self.capacity is None:
            return min(max(4 * self.k, 64), MAX_CAPACITY)
        return self.capacity

    @property
    def inputs(self) -> tuple[str, ...]:
        """The column whose values are counted."""
        return (self.column,)

    def partial_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return how many values there are, and the counters."""
        kind = check_countable(self.column, type_of(inputs, self.column))
        return pa.schema([("total", pa.int64()), ("counters", _counters(kind))])

    def result_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return one list of values."""
        kind = check_countable(self.column, type_of(inputs, self.column))
        return pa.schema([("top", _counters(kind))])

    def compute(self, rows: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Count, and keep the heaviest."""
        schema = self.partial_schema(rows.schema)
        values, codes = present(rows, self.column, groups)
        counted = tally(codes, groups.size, values)
        exact = (*counted.sums, np.zeros(len(counted.codes), np.int64))
        totals = np.bincount(codes, minlength=groups.size)
        return self._partials(counted._replace(sums=exact), totals, schema)

    def merge(self, partials: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Add up counters, with what each summary may have missed, and keep the heaviest."""
        rows, held = from_lists(partials.column("counters"))
        totals = as_numpy(partials.column("total"))
        counts, errors = as_numpy(held["count"]), as_numpy(held["error"])
        missed = _missed(rows, totals, counts, errors)
        # Every value is charged with all that was missed; its own counters take that back.
        codes = groups.codes[rows]
        own = tally(codes, groups.size, held["value"], counts - missed[rows], errors - missed[rows])
        charge = whole_sums_of(groups.codes, groups.size, missed)[own.codes]
        merged = own._replace(sums=tuple(charge + each for each in own.sums))
        kind = held["value"].type
        schema = pa.schema([("total", pa.int64()), ("counters", _counters(kind))])
        return self._partials(merged, whole_sums_of(groups.codes, groups.size, totals), schema)

    def finish(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """Return the heaviest ``k``, in order."""
        rows, held = from_lists(partials.column("counters"))
        sums = as_numpy(held["count"]), as_numpy(held["error"])
        top = Tally(rows, held["value"], sums).heaviest(len(partials), self.k)
        return pa.RecordBatch.from_arrays([_lists(top, len(partials))], names=["top"])

    def _partials(
        self, counted: Tally, totals: npt.NDArray[np.int64], schema: pa.Schema
    ) -> pa.RecordBatch:
        lists = _lists(_cut(counted, len(totals), self.counters), len(totals))
        return pa.RecordBatch.from_arrays([pa.array(totals, pa.int64()), lists], schema=schema)


def _cut(counted: Tally, size: int, capacity: int) -> Tally:
    """Keep the heaviest of each group; only groups that have too many are put in order."""
    crowded = (np.bincount(counted.codes, minlength=size) > capacity)[counted.codes]
    if not crowded.any():
        return counted
    entries = np.arange(len(counted.codes))
    few = counted.select(entries[~crowded])
    cut = counted.select(entries[crowded]).heaviest(size, capacity)
    both = Tally(
        np.concatenate([few.codes, cut.codes]),
        pa.concat_arrays([few.values, cut.values]),
        tuple(np.concatenate(each) for each in zip(few.sums, cut.sums, strict=True)),
    )
    return both.select(order_by_group(both.codes, size))


def _missed(
    rows: Codes,
    totals: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    errors: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Return how often a value may have occurred that a summary has no counter for."""
    least = totals.copy()
    np.minimum.at(least, rows, counts)
    unaccounted = totals - whole_sums_of(rows, len(totals), counts - errors)
    missed: npt.NDArray[np.int64] = np.minimum(least, unaccounted)
    return missed


def _counters(kind: pa.DataType) -> pa.DataType:
    fields = [("value", kind), ("count", pa.int64()), ("error", pa.int64())]
    return pa.list_(pa.struct(fields))


def _lists(counted: Tally, size: int) -> pa.Array:
    counts, errors = counted.sums
    return to_lists(counted.codes, size, value=counted.values, count=counts, error=errors)
