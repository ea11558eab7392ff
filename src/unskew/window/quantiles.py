"""What a histogram says: how many values lie up to a point, and up to which point how many lie.

Algorithms 3 and 4 of Ben-Haim and Tom-Tov (JMLR 2010, sec. 2.1), over many histograms at once. Half
of a bin lies on either side of its centre; between two centres the density goes from the one count
to the other in a straight line. The least and the greatest value stand at the ends, as bins with
the count 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.errors import InvalidParameterError, InvalidTypeError
from unskew.window.columns import as_numpy, nullable
from unskew.window.groups import Codes
from unskew.window.histogram import HISTOGRAM, Floats
from unskew.window.segments import from_lists, offsets_of, order_by_group


def quantile(histograms: pa.Array | Sequence[object], q: float) -> pa.Array:
    """Return the point of each histogram up to which a share ``q`` of its values lies (Alg. 4).

    Null for a histogram of no values.

    >>> bins = [{"centre": 0.0, "count": 2}, {"centre": 10.0, "count": 2}]
    >>> quantile([{"low": -4.0, "high": 13.0, "bins": bins}], 0.5).to_pylist()
    [5.0]
    """
    if not _is_number(q) or not 0 <= q <= 1:
        raise InvalidParameterError("q", q, "a number from 0 to 1")
    read = _read(histograms)
    wanted = float(q) * read.totals
    left, right, _ = _around(read, read.up_to[:-1] <= wanted[read.rows])
    low, high = read.counts[left], read.counts[right]
    beyond = wanted - read.up_to[left]
    # The root of the paper's quadratic, written so that equal counts need no case of their own.
    below = low + np.sqrt(np.maximum(low**2 + 2 * (high - low) * beyond, 0))
    share = np.clip(2 * beyond / np.where(below > 0, below, 1), 0, 1)
    start, end = read.centres[left], read.centres[right]
    points = np.where(start == end, start, start * (1 - share) + end * share)
    return nullable(points, read.totals == 0)


def count_up_to(histograms: pa.Array | Sequence[object], point: float) -> pa.Array:
    """Return about how many values of each histogram lie up to a point (Alg. 3, Sum).

    Null for a histogram of no values.

    >>> bins = [{"centre": 0.0, "count": 2}, {"centre": 10.0, "count": 2}]
    >>> histogram = {"low": -4.0, "high": 13.0, "bins": bins}
    >>> [count_up_to([histogram], point)[0].as_py() for point in (-4, -2, 0, 5, 10, 13)]
    [0.0, 0.25, 1.0, 2.0, 3.0, 4.0]
    """
    if not _is_number(point) or point != point:
        raise InvalidParameterError("point", point, "a number")
    read = _read(histograms)
    left, right, below = _around(read, read.centres[:-1] <= point)
    low, high = read.counts[left], read.counts[right]
    # Halves, as the distance of two doubles may be more than a double holds.
    start, end = read.centres[left] / 2, read.centres[right] / 2
    inside = left < right
    share = np.where(inside, float(point) / 2 - start, 0) / np.where(inside, end - start, 1)
    between = read.up_to[left] + (low + (high - low) * share / 2) * share
    counts = np.where(inside, between, np.where(below > 0, read.totals, 0))
    return nullable(counts, read.totals == 0)


class _Read(NamedTuple):
    """Bins of histograms side by side, and one more, for those that have none to show."""

    rows: Codes
    """The histogram of each bin."""
    offsets: Codes
    centres: Floats
    counts: Floats
    up_to: Floats
    """How many values of its histogram lie up to the centre of each bin."""
    totals: Floats


def _read(histograms: pa.Array | Sequence[object]) -> _Read:
    if isinstance(histograms, pa.ChunkedArray):
        histograms = histograms.combine_chunks()
    column = histograms if isinstance(histograms, pa.Array) else pa.array(histograms, HISTOGRAM)
    try:
        column = column.cast(HISTOGRAM)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowInvalid):
        raise InvalidTypeError(
            "histograms", f"a column of {column.type}", "pass what Histogram gave"
        ) from None
    low, high, lists = column.flatten()
    rows, held = from_lists(lists)
    some = np.flatnonzero(as_numpy(pc.is_valid(low)))
    none = np.zeros(len(some))
    centres = as_numpy(low.drop_null()), as_numpy(held["centre"]), as_numpy(high.drop_null())
    rows = np.concatenate([some, rows, some])
    order = order_by_group(rows, len(column))
    counts = np.concatenate([none, as_numpy(held["count"]), none])[order]
    offsets = offsets_of(rows, len(column))
    before = np.append(0.0, np.cumsum(counts))
    return _Read(
        rows[order],
        offsets,
        np.append(np.concatenate(centres)[order], 0.0),
        np.append(counts, 1.0),
        np.append(before[:-1] - before[offsets[rows[order]]] + counts / 2, 0.0),
        np.diff(before[offsets]),
    )


def _around(read: _Read, is_below: npt.NDArray[np.bool_]) -> tuple[Codes, Codes, Codes]:
    """Return the last bin below and the first one above, or twice the one at the end.

    Also how many are below.
    """
    first = read.offsets[:-1]
    last = np.maximum(read.offsets[1:] - 1, first)
    below = np.bincount(read.rows[is_below], minlength=len(first))
    return np.clip(first + below - 1, first, last), np.clip(first + below, first, last), below


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
