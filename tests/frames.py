"""Frames for tests on Spark: keys of every sort, and rows compared as multisets, bit by bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

PLACE = "place"
PLACES = 4
ROW = "row"
LABEL = "label"

_DOUBLES = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.5, 5e-324]
_TEXTS = ["", " ", "a", "A", "é", "e\u0301", "日本語", "🙂", "\0", "a" * 300]
_COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "whole": (pa.int32(), [0, 1, -1, 2**31 - 1, -(2**31)]),
    "long": (pa.int64(), [0, 1, -1, 2**63 - 1, -(2**63)]),
    "text": (pa.string(), _TEXTS),
    "real": (pa.float64(), _DOUBLES),
    "money": (pa.decimal128(20, 4), [Decimal("0.0000"), Decimal("-1.5000"), Decimal(10**15)]),
    "day": (pa.date32(), [date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31)]),
    "moment": (
        pa.timestamp("us", "UTC"),
        [datetime(1970, 1, 1, tzinfo=UTC), datetime(2024, 2, 29, 23, 59, 59, 999999, UTC)],
    ),
    "yes": (pa.bool_(), [True, False]),
    "raw": (pa.binary(), [b"", b"\0", b"\xff\xfe", b"a"]),
    "nested": (
        pa.struct(
            [("i", pa.int32()), ("in", pa.struct([("d", pa.float64()), ("s", pa.string())]))]
        ),
        [
            {"i": 1, "in": {"d": 0.0, "s": "a"}},
            {"i": 1, "in": {"d": -0.0, "s": "a"}},
            {"i": None, "in": {"d": float("nan"), "s": None}},
            {"i": 1, "in": None},
        ],
    ),
    "several": (pa.list_(pa.float64()), [[], [None], [0.0, 1.5], [-0.0, 1.5]]),
}
KEYS = (*_COLUMNS, ROW)


class Sample(NamedTuple):
    """A table with a column of every sort, and the columns that are the key."""

    table: pa.Table
    keys: list[str]

    def frame(self, spark: SparkSession) -> DataFrame:
        """Make it a frame of four partitions, each row in the one that its place says."""
        return spark.createDataFrame(self.table).repartitionById(PLACES, F.col(PLACE))


@st.composite
def samples(draw: st.DrawFn, max_rows: int = 40) -> Sample:
    """Draw a table from none to some rows, and from one key alone to all keys distinct.

    It has few columns beside the keys: `everything` has all, and Spark takes long to plan those.
    """
    keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True), label="keys")
    others = draw(st.lists(st.sampled_from(KEYS), max_size=2), label="other columns")
    n = draw(st.integers(0, max_rows), label="rows")
    random = draw(st.randoms(use_true_random=False), label="values")
    places = draw(st.lists(st.integers(0, PLACES - 1), min_size=1, unique=True), label="places")
    only_one = draw(st.booleans(), label="one value a column")
    columns = {
        ROW: pa.array(range(n), pa.int64()),
        PLACE: pa.array(random.choices(places, k=n), pa.int32()),
    }
    for name, (kind, values) in _COLUMNS.items():
        if name in (*keys, *others):
            pool = [random.choice([None, *values])] if only_one else [None, *values]
            columns[name] = pa.array(random.choices(pool, k=n), kind)
    return Sample(pa.table(columns), keys)


def everything() -> Sample:
    """Give the table that holds every value of every column, on some places, and keys of all."""
    longest = 2 * (1 + max(len(values) for _, values in _COLUMNS.values()))
    columns = {
        name: pa.array([[None, *values][at % (1 + len(values))] for at in range(longest)], kind)
        for name, (kind, values) in _COLUMNS.items()
    }
    columns[ROW] = pa.array(range(longest), pa.int64())
    columns[PLACE] = pa.array([2 * (at % 2) for at in range(longest)], pa.int32())
    return Sample(pa.table(columns), list(_COLUMNS))


def plain() -> Sample:
    """Give a table of few columns, with one hot key: quick to plan, many times over."""
    rows = range(60)
    columns = {
        ROW: pa.array(rows, pa.int64()),
        PLACE: pa.array([2 * (at % 2) for at in rows], pa.int32()),
        "text": [None if at % 9 == 0 else "hot" if at % 2 else f"key {at % 7}" for at in rows],
    }
    return Sample(pa.table(columns), ["text"])


def in_one_job(frames: Mapping[str, DataFrame]) -> dict[str, pa.Table]:
    """Give the rows of each frame, by one job for all of them."""
    labelled = [frame.withColumn(LABEL, F.lit(label)) for label, frame in frames.items()]
    table = reduce(lambda one, other: one.union(other), labelled).toArrow()
    return {
        label: table.filter(pc.equal(table[LABEL], label)).drop_columns(LABEL) for label in frames
    }


def multiset(table: pa.Table) -> Counter[Any]:
    """Count the rows of a table, apart where a bit differs: -0.0 is not 0.0, NaN is NaN."""
    return Counter(_plain(row) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return tuple((name, _plain(each)) for name, each in value.items())
    if isinstance(value, list):
        return tuple(map(_plain, value))
    return value
