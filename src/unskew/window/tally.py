"""How often each value occurs in each group, for values of any type, all groups at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.errors import InvalidTypeError
from unskew.window.columns import as_numpy
from unskew.window.groups import Codes, group_rows, plain_columns
from unskew.window.segments import order_by_group, positions, run_starts, run_sums


class Tally(NamedTuple):
    """Entries in order of groups, each value once in its group, with sums of what was given."""

    codes: Codes
    values: pa.Array
    sums: tuple[npt.NDArray[np.int64], ...]

    def select(self, entries: Codes) -> Tally:
        """Return some of the entries, in the order given."""
        sums = tuple(each[entries] for each in self.sums)
        return Tally(self.codes[entries], self.values.take(pa.array(entries)), sums)

    def heaviest(self, size: int, limit: int) -> Tally:
        """Order each group by its first sum, the heaviest first; keep at most ``limit`` entries.

        Among equal sums the lesser value comes first, so that the answer does not depend on the
        order of rows.
        """
        order = value_order(self.values)
        order = order[np.argsort(-self.sums[0][order], kind="stable")]
        order = order_by_group(self.codes, size, within=order)
        return self.select(order[positions(self.codes[order], size) < limit])

    def in_order(self, size: int) -> Tally:
        """Order each group by value."""
        return self.select(order_by_group(self.codes, size, within=value_order(self.values)))


def tally(codes: Codes, size: int, values: pa.Array, *weights: npt.NDArray[np.int64]) -> Tally:
    """Add up the weights of the rows of each value in each group; without weights, count the rows.

    >>> counted = tally(np.array([0, 1, 0]), 2, pa.array(["x", "x", "x"]))
    >>> counted.codes.tolist(), counted.values.to_pylist(), counted.sums[0].tolist()
    ([0, 1], ['x', 'x'], [2, 1])
    """
    if pa.types.is_floating(values.type):
        values = plain_columns(values)[0].cast(values.type)  # there is one zero
    distinct = group_rows([values])
    order = order_by_group(distinct.codes, distinct.size)
    order = order_by_group(codes, size, within=order)
    starts = run_starts(codes[order], distinct.codes[order])
    entries = order[starts]
    if weights:
        sums = tuple(run_sums(each[order], starts) for each in weights)
    else:
        sums = (np.diff(starts, append=len(codes)),)
    return Tally(codes[entries], values.take(pa.array(entries)), sums)


def check_countable(name: str, kind: pa.DataType) -> pa.DataType:
    """Return the type of a column whose values can be told apart and ordered; refuse others."""
    try:
        empty = pa.nulls(0, kind)
        value_order(empty)
    except (InvalidTypeError, pa.ArrowNotImplementedError):
        raise InvalidTypeError(
            name,
            f"a column of {kind}",
            "use numbers, strings, dates or structs of them, or cast it to a string",
        ) from None
    return kind


def value_order(values: pa.Array) -> Codes:
    """Return the order of values: numbers by size, NaN last, strings by their bytes."""
    distinct = group_rows([values])  # to compare each value once
    columns = plain_columns(values.take(pa.array(distinct.first)))
    names = [str(position) for position in range(len(columns))]
    keys = [(name, "ascending") for name in names]
    ascending = as_numpy(pc.sort_indices(pa.table(columns, names), sort_keys=keys))
    rank = np.empty(distinct.size, np.int64)
    rank[ascending] = np.arange(distinct.size)
    return order_by_group(rank[distinct.codes], distinct.size)
