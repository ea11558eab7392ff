"""Variances that stay right where the mean is large: counts, means and squared deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.checks import check_flag
from unskew.window.aggregator import Aggregator
from unskew.window.columns import as_numpy, check_name, check_number, nullable, numbers
from unskew.window.groups import Codes, Groups
from unskew.window.segments import sums_of, whole_sums_of

_PARTIAL = pa.schema([("count", pa.int64()), ("mean", pa.float64()), ("m2", pa.float64())])


@dataclass(frozen=True, slots=True)
class Variance(Aggregator):
    """The variance of the values of a column, as Spark's ``var_samp`` or ``var_pop`` [1]_.

    A partial is how many values there are, their mean, and the sum of their squared deviations
    from it. In a batch the deviations are taken from the batch's mean, in a second pass; the merge
    is that of [1]_ (eq. 2.1), for any number of partials at once. So no large squares are
    subtracted from each other, and values that are all equal have the variance 0.

    Nulls are left out. A key without a value has the variance null, and so has, for a sample, one
    with a single value. NaN and infinities make it NaN.

    >>> from unskew.window import group_rows
    >>> rows = pa.record_batch({"key": ["a", "a", "a", "b"], "x": [1e9 + 1, 1e9 + 2, 1e9 + 3, 7]})
    >>> sample, population = Variance("x"), Variance("x", population=True)
    >>> partials = sample.compute(rows, group_rows([rows["key"]]))
    >>> sample.finish(partials).to_pydict()
    {'variance': [1.0, None]}
    >>> population.finish(partials).to_pydict()
    {'variance': [0.6666666666666666, 0.0]}

    .. [1] Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing
       sample variances", COMPSTAT 1982.
    """

    column: str
    population: bool = False

    def __post_init__(self) -> None:
        check_name("column", self.column)
        check_flag("population", self.population)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The column whose values vary."""
        return (self.column,)

    def partial_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return a count, a mean and a sum of squares."""
        check_number(inputs, self.column)
        return _PARTIAL

    def result_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return one variance."""
        check_number(inputs, self.column)
        return pa.schema([("variance", pa.float64())])

    def compute(self, rows: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Take each value as a partial of its own."""
        values, codes = numbers(rows, self.column, groups)
        ones, zeros = np.ones(len(values), np.int64), np.zeros(len(values))
        return _merge(codes, groups.size, ones, values, zeros)

    def merge(self, partials: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Weigh means by their counts."""
        counts, means, squares = (as_numpy(partials.column(name)) for name in _PARTIAL.names)
        return _merge(groups.codes, groups.size, counts, means, squares)

    def finish(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """Divide by how many there are, less one for a sample."""
        return pa.RecordBatch.from_arrays([self._variances(partials)], names=["variance"])

    def _variances(self, partials: pa.RecordBatch) -> pa.Array:
        counts, squares = as_numpy(partials.column("count")), as_numpy(partials.column("m2"))
        freedom = counts if self.population else counts - 1
        return nullable(squares / np.maximum(freedom, 1), freedom <= 0)


@dataclass(frozen=True, slots=True)
class StandardDeviation(Variance):
    """The root of the variance, as Spark's ``stddev_samp`` or ``stddev_pop``.

    >>> from unskew.window import group_rows
    >>> rows = pa.record_batch({"key": ["a", "a"], "x": [1.0, 5.0]})
    >>> deviation = StandardDeviation("x", population=True)
    >>> deviation.finish(deviation.compute(rows, group_rows([rows["key"]]))).to_pydict()
    {'stddev': [2.0]}
    """

    def result_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return one standard deviation."""
        check_number(inputs, self.column)
        return pa.schema([("stddev", pa.float64())])

    def finish(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """Take the root."""
        variances = self._variances(partials)
        return pa.RecordBatch.from_arrays([pc.sqrt(variances)], names=["stddev"])


def _merge(
    codes: Codes,
    size: int,
    counts: npt.NDArray[np.int64],
    means: npt.NDArray[np.float64],
    squares: npt.NDArray[np.float64],
) -> pa.RecordBatch:
    totals = whole_sums_of(codes, size, counts)
    # What is no number, and what overflows, comes out as Spark has it, without a warning.
    with np.errstate(all="ignore"):
        shares = counts / np.maximum(totals, 1)[codes]
        centre = sums_of(codes, size, shares * means)
        # The error of the sum is as large as its terms; that of the residuals is not.
        centre += sums_of(codes, size, shares * (means - centre[codes]))
        spread = sums_of(codes, size, squares + counts * (means - centre[codes]) ** 2)
    columns = [pa.array(totals), pa.array(centre), pa.array(spread)]
    return pa.RecordBatch.from_arrays(columns, schema=_PARTIAL)
