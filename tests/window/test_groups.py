"""Keys are equal where Spark's groupBy says so."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.window import group_rows

PAIR = pa.struct([("a", pa.int64()), ("b", pa.float64())])


def codes(*keys):
    return group_rows(keys).codes.tolist()


def naive(rows):
    """Number rows in order of appearance; NaN is equal to NaN, and there is one zero."""

    def plain(value):
        if isinstance(value, dict):
            return tuple((name, plain(each)) for name, each in value.items())
        if isinstance(value, float):
            return "NaN" if math.isnan(value) else value + 0.0
        if isinstance(value, list):
            return tuple(map(plain, value))
        return value

    seen = {}
    return [seen.setdefault(tuple(map(plain, row)), len(seen)) for row in rows]


FEW = st.lists(st.sampled_from([None, 0.0, -0.0, math.nan, 1.0]), max_size=3)
COLUMNS = {
    "bool": (pa.bool_(), st.booleans()),
    "int": (pa.int64(), st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)])),
    "float": (pa.float32(), st.sampled_from([0.0, -0.0, math.nan, -math.nan, math.inf, 1.5])),
    "string": (pa.string(), st.sampled_from(["", "a", "b", "ä", "\0"])),
    "decimal": (pa.decimal128(9, 2), st.sampled_from([Decimal("1.20"), Decimal(-3)])),
    "date": (pa.date32(), st.dates(dt.date(2000, 1, 1), dt.date(2000, 1, 3))),
    "struct": (
        PAIR,
        st.fixed_dictionaries(
            {
                "a": st.none() | st.integers(0, 1),
                "b": st.none() | st.sampled_from([0.0, -0.0, math.nan]),
            }
        ),
    ),
    "list": (pa.list_(pa.float64()), FEW),
    "lists": (
        pa.struct([("in", pa.large_list(pa.list_(pa.float64())))]),
        st.fixed_dictionaries({"in": st.none() | st.lists(st.none() | FEW, max_size=2)}),
    ),
}


@given(st.data())
def test_keys_of_any_columns_are_told_apart_as_in_plain_python(data):
    names = data.draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=3))
    length = data.draw(st.integers(0, 20))
    values = [
        data.draw(st.lists(st.none() | COLUMNS[name][1], min_size=length, max_size=length))
        for name in names
    ]
    start = data.draw(st.integers(0, length))
    keys = [
        pa.array(each, COLUMNS[name][0]).slice(start)
        for name, each in zip(names, values, strict=True)
    ]

    groups = group_rows(keys)

    expected = naive(list(zip(*(key.to_pylist() for key in keys), strict=True)))
    assert groups.codes.tolist() == expected
    assert groups.size == len(set(expected)) == len(groups.first)
    assert [expected[row] for row in groups.first] == list(range(groups.size))
    assert all(code not in expected[:row] for code, row in enumerate(groups.first.tolist()))


def test_null_is_a_key_like_any_other():
    assert codes(pa.array(["a", None, "", None])) == [0, 1, 2, 1]
    assert codes(pa.nulls(2)) == [0, 0]


def test_there_is_one_nan_and_one_zero():
    other_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    values = np.concatenate([[math.nan, 0.0, -0.0, -math.nan], other_nan])

    assert codes(pa.array(values)) == [0, 1, 1, 0, 0]
    assert codes(pa.array([math.nan, None, 0.0], from_pandas=False)) == [0, 1, 2]
    assert codes(pa.array(values.astype(np.float16))) == [0, 1, 1, 0, 0]


def test_a_null_struct_is_not_a_struct_of_nulls():
    nothing, nulls = None, {"a": None, "b": None}

    assert codes(pa.array([nothing, nulls, nothing, nulls], PAIR)) == [0, 1, 0, 1]


def test_what_a_null_struct_hides_does_not_count():
    hidden = pa.StructArray.from_arrays(
        [pa.array([1, 2, 3])], ["a"], mask=pa.array([True, True, False])
    )

    assert codes(hidden) == [0, 0, 1]


def test_structs_in_structs_are_told_apart():
    kind = pa.struct([("s", PAIR), ("t", pa.string())])
    rows = [{"s": None, "t": "x"}, {"s": {"a": 1, "b": math.nan}, "t": "x"}] * 2

    assert codes(pa.array(rows, kind)) == [0, 1, 0, 1]


def test_several_columns_are_one_key():
    assert codes(pa.array([1, 1, 2, 1]), pa.array(["a", "b", "a", "a"])) == [0, 1, 2, 0]


def test_more_combinations_than_64_bits_hold_are_told_apart():
    # Five columns of 2^16 values: in 64 bits nothing would be left of the first.
    values = np.arange(2**16)
    last = pa.array(np.tile(values, 3))
    first = pa.array(np.concatenate([values, values[::-1], values]))

    groups = group_rows([first, last, last, last, last])

    assert groups.size == 2**17
    assert groups.codes.tolist() == [*range(2**17), *range(2**16)]
    assert groups.first.tolist() == [*range(2**17)]


def test_dictionaries_are_their_values():
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 3]), ["a", "a", None, "b"])

    assert codes(twice) == [0, 0, 1, 1, 2]


def test_chunks_are_one_column():
    chunks = pa.chunked_array([["a"], [], ["b", "a"]])
    dictionaries = pa.chunked_array(
        [pa.array(["a"]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()]
    )

    assert codes(chunks, chunks) == codes(dictionaries) == [0, 1, 0]
    assert group_rows([pa.chunked_array([], pa.string())]).size == 0


def test_no_rows_are_no_groups():
    groups = group_rows([pa.array([], pa.int64()), pa.array([], PAIR)])

    assert (groups.codes.tolist(), groups.size, groups.first.tolist()) == ([], 0, [])
    assert groups.codes.dtype == groups.first.dtype == np.int64


@pytest.mark.parametrize(
    "kind",
    [pa.map_(pa.string(), pa.int64()), pa.struct([("m", pa.map_(pa.string(), PAIR))])],
)
def test_maps_are_refused(kind):
    with pytest.raises(InvalidTypeError, match="without lists and maps"):
        group_rows([pa.nulls(2, kind)])


def test_a_type_that_arrow_cannot_encode_is_refused():
    with pytest.raises(InvalidTypeError, match="cast it to a string or a number"):
        group_rows([pa.nulls(2, pa.decimal32(5, 2))])


def test_no_columns_are_refused():
    with pytest.raises(InvalidInputError, match="at least one key column"):
        group_rows([])
