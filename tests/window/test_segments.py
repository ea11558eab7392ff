import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.window.segments import from_lists, order_by_group, positions, run_starts, to_lists


@pytest.mark.parametrize("size", [1, 2, 65_535, 65_536, 65_537, 2**20])
def test_the_order_is_that_of_a_stable_sort_however_many_groups_there_are(size):
    random = np.random.default_rng(size)
    codes = random.integers(0, size, 3_000)
    codes[:2] = size - 1, 0
    within = random.permutation(3_000)

    assert np.array_equal(order_by_group(codes, size), np.argsort(codes, kind="stable"))
    expected = within[np.argsort(codes[within], kind="stable")]
    assert np.array_equal(order_by_group(codes, size, within), expected)


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.0, -0.0, 1.0])), max_size=12))
def test_runs_end_where_any_column_changes(rows):
    columns = np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows])

    starts = run_starts(*columns).tolist()

    assert starts == [at for at, row in enumerate(rows) if at == 0 or row != rows[at - 1]]


@given(st.lists(st.none() | st.lists(st.integers(0, 9), max_size=4), max_size=8), st.integers(0, 8))
def test_lists_come_back_as_they_were_and_null_as_empty(rows, start):
    structs = [None if row is None else [{"n": n, "m": -n} for n in row] for row in rows]
    kind = pa.list_(pa.struct([("n", pa.int64()), ("m", pa.int64())]))
    lists = pa.array(structs, kind).slice(start)

    codes, fields = from_lists(lists)

    expected = [row or [] for row in structs[start:]]
    assert to_lists(codes, len(lists), **fields).to_pylist() == expected
    assert positions(codes, len(lists)).tolist() == [i for row in expected for i in range(len(row))]


def test_what_a_null_list_hides_does_not_count():
    hidden = pa.ListArray.from_arrays(
        pa.array([0, 2, 3], pa.int32()),
        pa.StructArray.from_arrays([pa.array([1, 2, 3])], ["n"]),
        mask=pa.array([True, False]),
    )

    codes, fields = from_lists(hidden)

    assert (codes.tolist(), fields["n"].to_pylist()) == ([1], [3])
