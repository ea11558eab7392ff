"""Streaming histograms: the distribution of a column in a few bins a key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.checks import check_whole
from unskew.window.aggregator import Aggregator
from unskew.window.closest import Bins, merge_closest
from unskew.window.columns import as_numpy, check_name, check_number, nullable, numbers
from unskew.window.groups import Codes, Groups
from unskew.window.segments import from_lists, offsets_of, order_by_group, run_starts, run_sums

MAX_BINS = 2**20

BINS = pa.list_(pa.struct([("centre", pa.float64()), ("count", pa.int64())]))
"""Bins, in order of their centres."""

HISTOGRAM = pa.struct([("low", pa.float64()), ("high", pa.float64()), ("bins", BINS)])
"""The least value, the greatest value, and the bins; of no values null, null and none."""

_SCHEMA = pa.schema([("histogram", HISTOGRAM)])

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Histogram(Aggregator):
    """The distribution of a column in at most ``bins`` bins a key [1]_, as CG sec. 8.1 uses it.

    A bin is a centre and how many values it stands for. Where there are too many, the two closest
    become one, whose centre is their weighted mean. `quantile` and `count_up_to` read the result,
    for which it also has the least and the greatest value.

    Counts add up to the number of values, and centres to their mean, however a key was split; with
    at most ``bins`` different values each has its own bin, exactly. Beyond that the bins depend
    on the order of merges, and [1]_ proves no bound for them: values far away from the others take
    bins of their own, which leaves fewer for the rest. So quantiles are good for normal or uniform
    values and poor for heavy tails, of which the logarithm has better histograms.

    Nulls, NaN and infinities are left out, as they have no place between others. Algorithm 1 of
    [1]_ takes values one by one; here those of a batch are bins of one value each, merged at once
    as algorithm 2 merges histograms.

    >>> from unskew.window import group_rows
    >>> rows = pa.record_batch({"key": ["a"] * 4, "x": [1.0, 2.0, 9.0, 9.0]})
    >>> histogram = Histogram("x", bins=2)
    >>> result = histogram.finish(histogram.compute(rows, group_rows([rows["key"]])))
    >>> result["histogram"][0].as_py()["bins"]
    [{'centre': 1.5, 'count': 2}, {'centre': 9.0, 'count': 2}]

    .. [1] Ben-Haim and Tom-Tov, "A streaming parallel decision tree algorithm", JMLR 11, 2010,
       sec. 2.1.
    """

    column: str
    bins: int

    def __post_init__(self) -> None:
        check_name("column", self.column)
        check_whole("bins", self.bins, 1, MAX_BINS)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The column of values."""
        return (self.column,)

    def partial_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return one histogram."""
        check_number(inputs, self.column)
        return _SCHEMA

    def result_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return one histogram."""
        return self.partial_schema(inputs)

    def compute(self, rows: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Give each value a bin, and merge them."""
        values, codes = numbers(rows, self.column, groups)
        finite = np.isfinite(values)
        if not finite.all():
            values, codes = values[finite], codes[finite]
        low, high = _ends(codes, groups.size, values, values)
        bins = self._bins(codes, groups.size, values, np.ones(len(values), np.int64))
        return _batch(low, high, bins)

    def merge(self, partials: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Put the bins of all partials of a key together, and merge them."""
        lows, highs, lists = partials.column("histogram").flatten()
        some = as_numpy(pc.is_valid(lows))
        codes = groups.codes[some]
        low, high = _ends(codes, groups.size, *(as_numpy(end.drop_null()) for end in (lows, highs)))
        rows, held = from_lists(lists)
        centres, counts = as_numpy(held["centre"]), as_numpy(held["count"])
        return _batch(low, high, self._bins(groups.codes[rows], groups.size, centres, counts))

    def finish(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """Return the histograms as they are."""
        return partials.select(["histogram"])

    def _bins(
        self, codes: Codes, size: int, centres: Floats, counts: npt.NDArray[np.int64]
    ) -> Bins:
        order = order_by_group(codes, size, within=np.argsort(centres))
        codes, centres = codes[order], centres[order] + 0.0  # there is one zero
        starts = run_starts(codes, centres)
        sums = run_sums(counts[order], starts)
        return merge_closest(
            Bins(offsets_of(codes[starts], size), centres[starts], sums), self.bins
        )


def _ends(codes: Codes, size: int, lows: Floats, highs: Floats) -> tuple[Floats, Floats]:
    """Return the least and the greatest value of each group; infinities where there is none."""
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, codes, lows)
    np.maximum.at(high, codes, highs)
    return low + 0.0, high + 0.0


def _batch(low: Floats, high: Floats, bins: Bins) -> pa.RecordBatch:
    entries = pa.StructArray.from_arrays([bins.centres, bins.counts], ["centre", "count"])
    lists = pa.ListArray.from_arrays(pa.array(bins.offsets, pa.int32()), entries)
    none = low > high
    columns = [nullable(low, none), nullable(high, none), lists]
    histograms = pa.StructArray.from_arrays(columns, HISTOGRAM.names)
    return pa.RecordBatch.from_arrays([histograms], schema=_SCHEMA)
