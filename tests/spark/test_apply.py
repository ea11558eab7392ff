import functools
import itertools
import operator

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.spark.apply import HASH, _parts
from unskew.spark.batches import ArrowKind, PandasKind

KEYS = ["_unskew_key0", "_unskew_key1"]
VALUES = [(None, None), (None, 1.0), (0, None), (0, 1.0), (1, 1.0), (1, 2.0), (2, float("nan"))]


@st.composite
def streams(draw):
    """Draw rows sorted by key, some keys of one hash, cut into batches anywhere."""
    counts = draw(st.lists(st.integers(0, 7), min_size=len(VALUES), max_size=len(VALUES)))
    rows = [at for at, count in enumerate(counts) for _ in range(count)]
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=6)))
    bounds = [0, *cuts, len(rows)]
    return [rows[start:end] for start, end in itertools.pairwise(bounds)]


def table(rows):
    return pa.table(
        {
            HASH: pa.array([at // 2 for at in rows], pa.int64()),
            KEYS[0]: pa.array([VALUES[at][0] for at in rows], pa.int64()),
            KEYS[1]: pa.array([VALUES[at][1] for at in rows], pa.float64()),
            "at": pa.array(rows, pa.int64()),
            "x": pa.array([None if at == 3 else at for at in rows], pa.int32()),
        }
    )


def as_sent(rows):
    """Give a pandas frame as Spark sends it: nulls of whole numbers apart."""
    whole = table(rows)
    frame = {}
    for name in whole.column_names:
        column = whole[name]
        if pa.types.is_integer(column.type) and name != HASH:
            frame[f"_unskew_null_{name}"] = column.is_null().to_numpy()
            column = column.fill_null(0)
        frame[name] = column.to_pandas()
    return pd.DataFrame(frame)


@pytest.mark.parametrize(("kind", "make"), [(ArrowKind(), table), (PandasKind(), as_sent)])
@given(streams(), st.integers(1, 9))
def test_a_stream_is_cut_where_the_key_changes(kind, make, batches, max_rows):
    made = (make(rows) for rows in batches)

    parts = list(_parts(made, kind, KEYS, ["at", "x"], max_rows))

    seen = [kind.join(part.rows) for part in parts]
    rows = [np.asarray(each["at"]).tolist() for each in seen]
    assert functools.reduce(operator.iadd, rows, []) == functools.reduce(operator.iadd, batches, [])
    assert all(len(set(each)) == 1 for each in rows)
    assert all(0 < len(each) <= max_rows for each in rows)
    # As few parts as the limit allows: only the last of a key may be shorter.
    for part, following in itertools.pairwise(rows):
        assert part[0] != following[0] or len(part) == max_rows
    for part, each in zip(parts, rows, strict=True):
        key = kind.key(part.source, part.row, KEYS)
        shown = [value.as_py() if isinstance(value, pa.Scalar) else value for value in key]
        expected = [np.nan if value is None else value for value in VALUES[each[0]]]
        found = [np.nan if value is None else value for value in shown]
        np.testing.assert_array_equal(found, expected)


def test_whole_numbers_are_floats_only_beside_a_null():
    frames = [
        PandasKind().join(part.rows)
        for part in _parts(iter([as_sent([2, 2, 3, 3, 4])]), PandasKind(), KEYS, ["at", "x"], 99)
    ]

    assert [str(frame["x"].dtype) for frame in frames] == ["int32", "float64", "int32"]
    assert frames[1]["x"].isna().all()
    assert [frame.index.tolist() for frame in frames] == [[0, 1], [0, 1], [0]]
