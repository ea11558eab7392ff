# `unskew.hashing.columns` is what `hash_keys` does with each column, and is tested through it.

import datetime as dt
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.naive.xxhash import hash_bytes, hash_int, hash_long, hash_row
from unskew.errors import InvalidInputError, InvalidTypeError, UnskewError
from unskew.hashing import hash_keys

DAY = 86_400_000_000
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Kind(NamedTuple):
    """How values of one type are drawn, stored by Arrow, and named and seen by Spark."""

    arrow: pa.DataType
    tag: str
    values: Any
    as_stored: Any = lambda value: value
    """What Arrow stores, from the value drawn."""
    as_hashed: Any = lambda value: value
    """What the twin is given, from the value drawn."""

    def array(self, rows):
        stored = [None if row is None else self.as_stored(row) for row in rows]
        if pa.types.is_temporal(self.arrow):
            # Through whole numbers: Python's own times stop at microseconds and the year 9999.
            whole = pa.int32() if self.arrow.bit_width == 32 else pa.int64()
            return pa.array(stored, whole).view(self.arrow)
        return pa.array(stored, self.arrow)

    def typed(self, row):
        return self.tag, None if row is None else self.as_hashed(row)


def whole(arrow, tag, low, high):
    edges = [edge for edge in (low, high, 0, 1, -1, 127, 128) if low <= edge <= high]
    return Kind(arrow, tag, st.sampled_from(edges) | st.integers(low, high))


def signed(bits, tag):
    return whole(getattr(pa, f"int{bits}")(), tag, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def unsigned(bits, tag):
    return whole(getattr(pa, f"uint{bits}")(), tag, 0, 2**bits - 1)


def floating(width, arrow, tag):
    """Any pattern of bits: every NaN, both zeros, numbers below the smallest normal one."""
    words, floats = np.dtype(f"u{width // 8}"), np.dtype(f"f{width // 8}")
    top = 1 << (width - 1)
    infinity = int(np.array(np.inf, floats).view(words))
    edges = [0, top, 1, top | 1, infinity, top | infinity]
    edges += [infinity | 1, infinity | top | 1, infinity | infinity >> 1, 2**width - 1]

    def value(bits):
        return np.array(bits, words).view(floats)[()]

    return Kind(
        arrow,
        tag,
        (st.sampled_from(edges) | st.integers(0, 2**width - 1)).map(value),
        as_hashed=float,
    )


def decimal(precision, scale):
    limit = 10**precision - 1
    bytes_change = [2 ** (8 * k - 1) for k in range(1, 16)]
    edges = [e for b in bytes_change for e in (b - 1, b, -b, -b - 1) if abs(e) <= limit]
    values = st.sampled_from([0, 1, -1, limit, -limit, *edges]) | st.integers(-limit, limit)
    # From a string: arithmetic on a Decimal would round to the 28 digits of its context.
    return Kind(
        pa.decimal128(precision, scale),
        f"decimal({precision},{scale})",
        values,
        as_stored=lambda unscaled: Decimal(f"{unscaled}E-{scale}"),
    )


def ticks(arrow, tag, per_microsecond):
    """Times before and after 1970; ``per_microsecond`` below 1 is a coarser unit."""
    limit = int((2**63 - 1) * min(1.0, per_microsecond) * 0.999)
    edges = st.sampled_from([0, 1, -1, limit, -limit])
    if per_microsecond > 1:
        # What lies between two microseconds: test_nanoseconds_are_cut_to_microseconds.
        values = (edges | st.integers(-(2**52), 2**52)).map(lambda t: t // 1000 * 1000)
        return Kind(arrow, tag, values, as_hashed=lambda t: t // per_microsecond)
    return Kind(
        arrow,
        tag,
        edges | st.integers(-limit, limit),
        as_hashed=lambda t: t * round(1 / per_microsecond),
    )


TEXT = (
    st.sampled_from(["", "a", "ß", "日本語", "🙂" * 9, "x" * 31, "x" * 32, "y" * 100]) | st.text()
)
BINARY = st.sampled_from([b"", b"\0", b"\0" * 32]) | st.binary(max_size=80)
UNITS = {"s": 1e-6, "ms": 1e-3, "us": 1, "ns": 1000}

KINDS = {
    "boolean": Kind(pa.bool_(), "boolean", st.booleans()),
    "int8": signed(8, "tinyint"),
    "int16": signed(16, "smallint"),
    "int32": signed(32, "int"),
    "int64": signed(64, "bigint"),
    # Spark has no unsigned types: each is hashed as the narrowest of int and bigint that holds it.
    "uint8": unsigned(8, "int"),
    "uint16": unsigned(16, "int"),
    "uint32": unsigned(32, "bigint"),
    "uint64": unsigned(64, "bigint"),
    "float16": floating(16, pa.float16(), "float"),
    "float32": floating(32, pa.float32(), "float"),
    "float64": floating(64, pa.float64(), "double"),
    "date32": whole(pa.date32(), "date", -(2**31), 2**31 - 1),
    "string": Kind(pa.string(), "string", TEXT),
    "large_string": Kind(pa.large_string(), "string", TEXT),
    "string_view": Kind(pa.string_view(), "string", TEXT),
    "binary": Kind(pa.binary(), "binary", BINARY),
    "large_binary": Kind(pa.large_binary(), "binary", BINARY),
    "binary_view": Kind(pa.binary_view(), "binary", BINARY),
    "binary(7)": Kind(pa.binary(7), "binary", st.binary(min_size=7, max_size=7)),
    **{
        f"timestamp[{unit}{', ' + tz if tz else ''}]": ticks(
            pa.timestamp(unit, tz), "timestamp" if tz else "timestamp_ntz", scale
        )
        for unit, scale in UNITS.items()
        for tz in (None, "UTC", "Asia/Tokyo")
    },
    **{
        # A day-time interval of Spark is a long of microseconds, as a timestamp is.
        f"duration[{unit}]": ticks(pa.duration(unit), "bigint", scale)
        for unit, scale in UNITS.items()
    },
    **{
        f"decimal({precision},{scale})": decimal(precision, scale)
        for precision, scale in [(1, 0), (9, 2), (18, 0), (18, 18), (19, 0), (28, 9), (38, 38)]
    },
}

by_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def hashed_row_by_row(*columns):
    """Hash typed columns with the twin."""
    return [hash_row(row) for row in zip(*columns, strict=True)]


@by_kind
@settings(max_examples=20)
@given(st.data())
def test_a_column_is_hashed_as_spark_hashes_its_type(kind, data):
    rows = data.draw(st.lists(st.none() | kind.values, max_size=12), label="rows")
    before = data.draw(st.lists(st.none() | kind.values, max_size=10), label="rows before")
    expected = hashed_row_by_row([kind.typed(row) for row in rows])

    array = kind.array(rows)
    longer = kind.array([*before, *rows, *before])
    cut = data.draw(st.integers(0, len(rows)), label="cut")
    forms = {
        "whole": array,
        "sliced": longer.slice(len(before), len(rows)),
        "chunked": pa.chunked_array([array[:cut], array[cut:]]),
        "chunked and sliced": pa.chunked_array([longer, longer]).slice(len(before), len(rows)),
    }

    assert {form: hash_keys(column).tolist() for form, column in forms.items()} == dict.fromkeys(
        forms, expected
    )


@by_kind
def test_a_column_without_a_value_leaves_every_seed_as_it_is(kind):
    for column in (pa.nulls(5, kind.arrow), pa.nulls(9, kind.arrow).slice(3, 5)):
        assert hash_keys(column).tolist() == [42] * 5


@by_kind
def test_a_column_without_rows_has_no_hashes(kind):
    for column in (
        pa.array([], kind.arrow),
        pa.nulls(4, kind.arrow).slice(2, 0),
        pa.chunked_array([], kind.arrow),
    ):
        hashes = hash_keys(column)
        assert hashes.tolist() == []
        assert hashes.dtype == np.uint64


@settings(max_examples=30)
@given(st.data())
def test_the_hash_of_a_column_is_the_seed_of_the_next(data):
    kinds = data.draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=4), label="kinds")
    count = data.draw(st.integers(0, 6), label="rows")
    columns, typed = [], []
    for kind in map(KINDS.get, kinds):
        rows = data.draw(st.lists(st.none() | kind.values, min_size=count, max_size=count))
        columns.append(kind.array(rows))
        typed.append([kind.typed(row) for row in rows])

    assert hash_keys(tuple(columns)).tolist() == hashed_row_by_row(*typed)


@settings(max_examples=30)
@given(st.data())
def test_a_struct_is_hashed_as_its_fields_in_order(data):
    kinds = data.draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3), label="kinds")
    there = data.draw(st.lists(st.booleans(), max_size=8), label="which rows are no null")
    skipped = data.draw(st.integers(0, len(there)), label="rows sliced off")
    columns, typed = [], []
    for kind in map(KINDS.get, kinds):
        rows = data.draw(
            st.lists(st.none() | kind.values, min_size=len(there), max_size=len(there))
        )
        columns.append(kind.array(rows))
        typed.append([kind.typed(row) for row in rows])
    struct = pa.StructArray.from_arrays(
        columns,
        [f"f{i}" for i in range(len(kinds))],
        mask=pa.array([not v for v in there], pa.bool_()),
    )

    expected = hashed_row_by_row(*typed)
    expected = [h if is_there else 42 for h, is_there in zip(expected, there, strict=True)]
    assert hash_keys(struct).tolist() == expected
    assert hash_keys(struct.slice(skipped)).tolist() == expected[skipped:]


def test_a_struct_in_a_struct_and_one_without_fields():
    rows = [{"x": 1, "in": {"y": "a"}}, {"x": None, "in": {"y": "b"}}, {"x": 3, "in": None}, None]
    nested = pa.array(
        rows, pa.struct({"x": pa.int32(), "in": pa.struct({"y": pa.string(), "z": pa.struct([])})})
    )

    assert hash_keys(nested).tolist() == [
        hash_row([("int", 1), ("string", "a")]),
        hash_row([("string", "b")]),
        hash_row([("int", 3)]),
        42,
    ]


def test_values_that_lie_under_a_null_are_not_hashed():
    values = pa.array([1, 2, 3])
    masked = pa.Array.from_buffers(
        pa.int64(), 3, [pa.array([True, False, True]).buffers()[1], values.buffers()[1]]
    )

    assert hash_keys(masked).tolist() == [hash_long(1, 42), 42, hash_long(3, 42)]


@pytest.mark.parametrize("unit", [pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.duration("ns")])
def test_nanoseconds_are_cut_to_microseconds(unit):
    times = pa.array([0, 999, 1_000, 1_999, 2_000], pa.int64()).view(unit)

    assert hash_keys(times).tolist() == [hash_long(us, 42) for us in (0, 0, 1, 1, 2)]


@pytest.mark.parametrize("unit", [pa.timestamp("ns"), pa.timestamp("ns", "UTC")])
def test_nanoseconds_before_1970_belong_to_the_microsecond_they_are_in(unit):
    # As where Spark takes such a column in: downwards, not towards 1970.
    times = pa.array([-1, -999, -1_000, -1_001, -2_000], pa.int64()).view(unit)

    assert hash_keys(times).tolist() == [hash_long(us, 42) for us in (-1, -1, -1, -2, -2)]


def test_a_dictionary_is_hashed_by_its_values():
    words = pa.array(["a", None, "b"])
    coded = pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 1, 0], pa.int8()), words)
    expected = [hash_row([("string", word)]) for word in ("b", "a", None, None, "a")]

    assert hash_keys(coded).tolist() == expected
    assert hash_keys(coded.slice(1, 3)).tolist() == expected[1:4]


def test_chunks_with_dictionaries_of_their_own_are_hashed_by_their_values():
    chunks = pa.chunked_array([pa.array(part).dictionary_encode() for part in (["a"], ["b", "a"])])

    assert hash_keys(chunks).tolist() == [hash_bytes(text, 42) for text in (b"a", b"b", b"a")]


def test_a_dictionary_of_numbers_is_hashed_by_its_numbers():
    coded = pa.array([7, 8, None, 7], pa.int32()).dictionary_encode()

    assert hash_keys(coded).tolist() == [hash_int(7, 42), hash_int(8, 42), 42, hash_int(7, 42)]


def test_an_extension_type_is_hashed_by_its_storage():
    ids = [bytes(range(16)), None, b"\xff" * 16]
    expected = [hash_row([("binary", each)]) for each in ids]

    assert hash_keys(pa.array(ids, pa.uuid())).tolist() == expected
    assert hash_keys(pa.chunked_array([pa.array(ids, pa.uuid())])).tolist() == expected


def test_the_null_type_leaves_every_seed_as_it_is():
    assert hash_keys([None, None]).tolist() == [42, 42]
    assert hash_keys(([None, None], [1, 2])).tolist() == [hash_long(1, 42), hash_long(2, 42)]


@pytest.mark.parametrize(
    ("values", "tag", "physical"),
    [
        (["b", None, ""], "string", ["b", None, ""]),
        ([b"b", None, b""], "binary", [b"b", None, b""]),
        ([3, None, -(2**63)], "bigint", [3, None, -(2**63)]),
        ([1.5, None, -0.0], "double", [1.5, None, 0.0]),
        ([True, None, False], "boolean", [True, None, False]),
        ([dt.date(1970, 1, 3), None, dt.date(1969, 12, 31)], "date", [2, None, -1]),
        (
            [dt.datetime(1970, 1, 2), None, dt.datetime(1969, 12, 31)],  # noqa: DTZ001 - Spark's NTZ
            "timestamp_ntz",
            [DAY, None, -DAY],
        ),
        ([EPOCH + dt.timedelta(days=1, microseconds=7)], "timestamp", [DAY + 7]),
        ([dt.timedelta(seconds=-1)], "bigint", [-1_000_000]),
        # Whatever digits they have: the hash of a key must not depend on its neighbours.
        (
            [Decimal("1.5"), None, Decimal("12345678901234567890.25")],
            "decimal(38,18)",
            [1500000000000000000, None, 12345678901234567890250000000000000000],
        ),
        (range(3), "bigint", [0, 1, 2]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_python_values_have_the_types_of_spark(values, tag, physical):
    assert hash_keys(values).tolist() == [hash_row([(tag, each)]) for each in physical]


@pytest.mark.parametrize(
    ("values", "tag", "physical"),
    [
        (np.array([1, -1, 2**62]), "bigint", [1, -1, 2**62]),
        (np.array([1, -1], np.int32), "int", [1, -1]),
        (np.array([1, -1], np.int16), "smallint", [1, -1]),
        (np.array([1, 255], np.uint8), "int", [1, 255]),
        (np.array([2**64 - 1], np.uint64), "bigint", [-1]),
        (np.array([0.1, -0.0, np.nan]), "double", [0.1, 0.0, float("nan")]),
        (np.array([0.5, -0.0, np.nan], np.float32), "float", [0.5, 0.0, float("nan")]),
        (np.array([True, False]), "boolean", [True, False]),
        (np.array(["a", "日本", ""]), "string", ["a", "日本", ""]),
        (np.array(["a", None], object), "string", ["a", None]),
        (np.array([b"a", b"bc"]), "binary", [b"a", b"bc"]),
        (np.array([1, -1], "M8[D]"), "date", [1, -1]),
        (np.array([1, "NaT"], "M8[s]"), "timestamp_ntz", [1_000_000, None]),
        (np.array([1, -1], "m8[ms]"), "bigint", [1_000, -1_000]),
    ],
    ids=lambda value: str(value.dtype) if isinstance(value, np.ndarray) else "",
)
def test_numpy_arrays_have_the_types_of_spark(values, tag, physical):
    expected = [hash_row([(tag, each)]) for each in physical]

    assert hash_keys(values).tolist() == expected
    # Every second one of each value twice: memory with gaps.
    assert hash_keys(np.repeat(values, 2)[::2]).tolist() == expected


@given(st.integers(0, 2**64 - 1))
@example(0)
def test_the_seed_is_what_the_first_column_starts_from(seed):
    assert hash_keys(["a", None], seed=seed).tolist() == [hash_bytes(b"a", seed), seed]


def test_columns_of_several_sorts_are_hashed_together():
    columns = (["a", "b"], np.array([1, 2], np.int32), pa.chunked_array([[1.5], [None]]))

    assert hash_keys(columns).tolist() == [
        hash_row([("string", "a"), ("int", 1), ("double", 1.5)]),
        hash_row([("string", "b"), ("int", 2)]),
    ]


def test_the_input_is_left_as_it_is():
    floats = np.array([-0.0, np.nan, 1.0])
    bits = floats.view(np.uint64).copy()

    hash_keys(floats)

    assert (floats.view(np.uint64) == bits).all()


def test_an_empty_tuple_of_columns_is_refused():
    with pytest.raises(InvalidInputError, match="empty tuple"):
        hash_keys(())


def test_columns_of_unequal_length_are_refused_with_both_lengths():
    with pytest.raises(InvalidInputError, match="has 2 rows in column 0 and 3 in column 1"):
        hash_keys((["a", "b"], [1, 2, 3]))


@pytest.mark.parametrize("shape", [(), (2, 2), (0, 3)])
def test_an_array_of_any_dimensions_but_one_is_refused(shape):
    with pytest.raises(InvalidInputError, match=f"has {len(shape)} dimensions"):
        hash_keys(np.zeros(shape))


@pytest.mark.parametrize("keys", [{"a", "b"}, {"a": 1}, iter(["a"])])
def test_what_has_no_order_of_rows_is_refused(keys):
    with pytest.raises(InvalidTypeError, match="pass a list or an array of keys"):
        hash_keys(keys)


def test_a_pandas_series_is_hashed_by_its_values():
    words = ["a", None, "b"]
    chunked = pd.Series(pa.chunked_array([["a", None], ["b"]]), dtype=pd.ArrowDtype(pa.string()))

    assert hash_keys(pd.Series(words)).tolist() == hash_keys(words).tolist()
    assert hash_keys(chunked).tolist() == hash_keys(words).tolist()


@pytest.mark.parametrize("key", ["abc", b"abc", ""])
def test_a_bare_string_is_refused_and_not_taken_for_its_letters(key):
    with pytest.raises(InvalidTypeError, match=f"a single {type(key).__name__}; pass a list"):
        hash_keys(key)


@pytest.mark.parametrize("values", [[1, "a"], ["a", 1], [True, 1], [b"a", 1.5], [object()]])
def test_keys_of_several_types_are_refused(values):
    with pytest.raises(InvalidTypeError, match="no column of one type"):
        hash_keys(values)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([2**63], id="an int that no bigint holds"),
        pytest.param(["\ud800"], id="a string that is no UTF-8"),
        pytest.param(7, id="a single number"),
        pytest.param(None, id="nothing"),
        pytest.param(np.array([1j]), id="complex numbers"),
    ],
)
def test_what_is_no_column_of_spark_is_refused_by_an_error_of_ours(values):
    with pytest.raises(UnskewError, match="`values` "):
        hash_keys(values)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_is_no_word_is_refused_with_its_value(seed):
    with pytest.raises(UnskewError, match=f"`seed` is {seed}"):
        hash_keys(["a"], seed=seed)


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.int32()),
        pa.map_(pa.string(), pa.int32()),
        pa.date64(),
        pa.decimal256(40, 2),
        pa.struct({"x": pa.list_(pa.int32())}),
    ],
    ids=str,
)
def test_a_type_that_spark_does_not_hash_so_is_refused_by_its_name(kind):
    # An empty column must not pass either, or a job would fail only on its first row.
    for rows in (0, 2):
        with pytest.raises(InvalidTypeError, match="a column of ") as caught:
            hash_keys(pa.nulls(rows, kind))
        named = kind.field(0).type if pa.types.is_struct(kind) else kind
        assert str(named) in str(caught.value)


def test_an_error_in_a_later_column_names_what_is_wrong_there():
    with pytest.raises(InvalidTypeError, match="list<item: int64>"):
        hash_keys(([1, 2], [[1], [2]]))
