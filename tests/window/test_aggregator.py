"""What every aggregator keeps: any cut of the rows, any tree of merges, the same result."""

import math
import pickle
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew.window
from tests.naive import aggregators as naive
from tests.window.split import batch, by_key, computed, merged, one_group, results
from unskew.errors import InvalidParameterError, InvalidTypeError, UnknownNameError
from unskew.window import (
    Aggregator,
    Count,
    Histogram,
    Many,
    Mean,
    NaiveBayes,
    StandardDeviation,
    Sum,
    TopK,
    Variance,
    group_rows,
)

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("i", pa.int64()),
        ("x", pa.float64()),
        ("d", pa.decimal128(9, 2)),
        ("s", pa.string()),
    ]
)

# Each with what it gives for the values of one key. Sketches are within their limits here, so
# that they are exact; what they promise beyond is in their own tests.
EXACT = {
    "rows": (Count(), "s", lambda values: {"count": len(values)}),
    "count": (Count("x"), "x", lambda values: {"count": naive.count(values)}),
    "sum of ints": (Sum("i"), "i", lambda values: {"sum": naive.total(values)}),
    "sum of decimals": (Sum("d"), "d", lambda values: {"sum": naive.total(values)}),
    "top": (TopK("s", 2), "s", lambda values: {"top": naive.Summary.of(64, values).top(2)}),
    "top of ints": (TopK("i", 9), "i", lambda values: {"top": naive.Summary.of(64, values).top(9)}),
    "labels": (
        NaiveBayes("s"),
        "s",
        lambda values: {
            "labels": [
                {"label": each, "count": values.count(each)}
                for each in sorted(set(naive.present(values)))
            ]
        },
    ),
    "histogram": (
        Histogram("i", 64),
        "i",
        lambda values: {
            "histogram": {
                "low": min(naive.present(values), default=None),
                "high": max(naive.present(values), default=None),
                "bins": [
                    {"centre": float(each), "count": values.count(each)}
                    for each in sorted(set(naive.present(values)))
                ],
            }
        },
    ),
}
ROUNDED = {
    "sum of floats": (Sum("x"), "x", lambda values: {"sum": naive.total(values)}),
    "mean": (Mean("x"), "x", lambda values: {"mean": naive.mean(values)}),
    "mean of ints": (Mean("i"), "i", lambda values: {"mean": naive.mean(values)}),
    "variance": (Variance("x"), "x", lambda values: {"variance": naive.variance(values, False)}),
    "population": (
        Variance("x", population=True),
        "x",
        lambda values: {"variance": naive.variance(values, True)},
    ),
    "deviation": (
        StandardDeviation("i"),
        "i",
        lambda values: {
            "stddev": None
            if len(naive.present(values)) < 2
            else math.sqrt(naive.variance(values, False))
        },
    ),
}
ALL = {name: case[0] for name, case in (EXACT | ROUNDED).items()}
ALL["many"] = Many(n=Count(), mean=Mean("x"), top=TopK("s", 2), inner=Many(sum=Sum("i")))
ALL["crowded top"] = TopK("i", 1, capacity=1)
ALL["crowded histogram"] = Histogram("x", 1)


@st.composite
def tables(draw):
    """Draw rows of few keys and few values, with nulls in every column."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="rows"))
    length = draw(st.integers(0, 40), label="length")
    nulls = draw(st.sampled_from([0.0, 0.2, 0.9]), label="share of nulls")
    columns = {
        "key": random.choice(["a", "b", "c"], length).tolist(),
        "i": random.integers(-3, 4, length).tolist(),
        "x": (random.normal(size=length) * 10.0 ** random.integers(-3, 6, length)).tolist(),
        "d": [Decimal(n) / 100 for n in random.integers(-99_999, 99_999, length).tolist()],
        "s": random.choice(["u", "v", "w", "ä", ""], length).tolist(),
    }
    return batch(
        **{
            name: pa.array(values, SCHEMA.field(name).type, mask=random.random(length) < nulls)
            for name, values in columns.items()
        }
    )


CUTS = st.lists(st.integers(0, 100), max_size=5)
SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("name", EXACT)
@given(rows=tables(), cuts=CUTS, seed=SEEDS)
def test_any_cut_and_any_merge_give_exactly_what_plain_python_gives(name, rows, cuts, seed):
    aggregator, column, expected = EXACT[name]

    found = results(aggregator, rows, cuts, seed)

    assert found == {key: expected(values) for key, values in by_key(rows, column).items()}


@pytest.mark.parametrize("name", ROUNDED)
@given(rows=tables(), cuts=CUTS, seed=SEEDS)
def test_any_cut_and_any_merge_give_what_plain_python_gives_to_rounding(name, rows, cuts, seed):
    aggregator, column, expected = ROUNDED[name]

    found = results(aggregator, rows, cuts, seed)

    values = by_key(rows, column)
    assert found.keys() == values.keys()
    for key, result in found.items():
        ((_, number),) = result.items()
        ((_, right),) = expected(values[key]).items()
        scale = max(map(abs, naive.present(values[key])), default=0)
        assert (number is None) == (right is None)
        assert number == right or number == pytest.approx(right, rel=1e-9, abs=1e-9 * scale)


@pytest.mark.parametrize("name", ALL)
def test_no_rows_are_no_partials_and_no_results(name):
    assert (
        results(ALL[name], batch(**{each.name: pa.array([], each.type) for each in SCHEMA})) == {}
    )


@pytest.mark.parametrize("name", ALL)
def test_a_key_of_nulls_alone_has_a_result(name):
    rows = batch(**{each.name: pa.nulls(3, each.type) for each in SCHEMA})

    assert list(results(ALL[name], rows, cuts=[1])) == [None]


@pytest.mark.parametrize("name", ALL)
def test_columns_of_no_type_are_columns_of_nulls(name):
    typed = batch(**{each.name: pa.nulls(3, each.type) for each in SCHEMA})
    untyped = batch(**{each.name: pa.nulls(3) for each in SCHEMA})

    assert results(ALL[name], untyped, cuts=[1]) == results(ALL[name], typed, cuts=[1])


@pytest.mark.parametrize("name", ALL)
def test_a_copy_that_travelled_gives_the_same(name):
    rows = random_rows(500)
    aggregator = ALL[name]
    copy = pickle.loads(pickle.dumps(aggregator))

    assert copy == aggregator
    assert repr(copy) == repr(aggregator)
    assert results(copy, rows) == results(aggregator, rows)


@pytest.mark.parametrize("name", ALL)
def test_the_order_of_columns_and_other_columns_do_not_matter(name):
    rows = random_rows(50)
    groups = group_rows([rows["key"]])
    turned = rows.select(rows.schema.names[::-1])
    partials = ALL[name].compute(rows, groups)

    assert ALL[name].compute(turned, groups).equals(partials)
    names = partials.schema.names[::-1]
    wide = pa.RecordBatch.from_arrays(
        [*(partials[each] for each in names), rows["s"].slice(0, groups.size)],
        names=[*names, "other"],
    )
    each_alone = group_rows([pa.array(range(groups.size))])
    assert ALL[name].merge(wide, each_alone).equals(ALL[name].merge(partials, each_alone))
    assert ALL[name].finish(wide).equals(ALL[name].finish(partials))


@pytest.mark.parametrize("name", ALL)
def test_a_merge_of_one_partial_a_key_changes_no_result(name):
    rows = random_rows(300)
    parts = computed(ALL[name], rows)

    again = merged(ALL[name], [parts], np.random.default_rng(1))

    direct = dict(
        zip(
            parts["key"].to_pylist(),
            ALL[name].finish(parts.drop_columns("key")).to_pylist(),
            strict=True,
        )
    )
    assert direct == dict(
        zip(
            again["key"].to_pylist(),
            ALL[name].finish(again.drop_columns("key")).to_pylist(),
            strict=True,
        )
    )


@pytest.mark.parametrize("name", ALL)
def test_dictionaries_are_their_values(name):
    rows = random_rows(200)
    encoded = pa.RecordBatch.from_arrays(
        [column.dictionary_encode() for column in rows.columns], names=rows.schema.names
    )
    aggregator, groups = ALL[name], group_rows([rows["key"]])

    assert aggregator.partial_schema(encoded.schema) == aggregator.partial_schema(rows.schema)
    assert aggregator.compute(encoded, groups).equals(aggregator.compute(rows, groups))


@pytest.mark.parametrize("name", ALL)
def test_the_inputs_are_all_that_it_reads(name):
    rows = random_rows(100)
    needed = rows.select(list(ALL[name].inputs))

    partials = ALL[name].compute(rows, group_rows([rows["key"]]))

    if needed.num_columns:  # without any column a batch has no rows
        assert ALL[name].compute(needed, group_rows([rows["key"]])).equals(partials)


@pytest.mark.parametrize("name", [name for name, each in ALL.items() if each.inputs])
def test_a_column_that_is_not_there_is_named(name):
    rows = batch(key=["a"], xs=[1.0])

    for attempt in (
        lambda: ALL[name].partial_schema(rows.schema),
        lambda: ALL[name].result_schema(rows.schema),
        lambda: ALL[name].compute(rows, one_group(1)),
    ):
        with pytest.raises(UnknownNameError, match="no column is called"):
            attempt()


@pytest.mark.parametrize(
    ("aggregator", "kind"),
    [
        (Sum("x"), pa.string()),
        (Sum("x"), pa.bool_()),
        (Sum("x"), pa.uint64()),
        (Mean("x"), pa.decimal128(5, 2)),
        (Variance("x"), pa.timestamp("us")),
        (StandardDeviation("x"), pa.bool_()),
        (Histogram("x", 3), pa.string()),
        (TopK("x", 3), pa.list_(pa.int64())),
        (NaiveBayes("x"), pa.map_(pa.string(), pa.int64())),
        (Many(deep=Mean("x")), pa.string()),
    ],
)
def test_a_column_of_a_type_without_a_meaning_is_refused_before_any_work(aggregator, kind):
    rows = batch(key=["a"], x=pa.nulls(1, kind))

    for attempt in (
        lambda: aggregator.partial_schema(rows.schema),
        lambda: aggregator.result_schema(rows.schema),
        lambda: aggregator.compute(rows, one_group(1)),
    ):
        with pytest.raises(InvalidTypeError, match=r"`x` is a column of .*cast it"):
            attempt()


@pytest.mark.parametrize("make", [Count, Sum, Mean, Variance, StandardDeviation, NaiveBayes])
@pytest.mark.parametrize("name", ["", 3, ["x"]])
def test_what_is_no_name_of_a_column_is_refused(make, name):
    with pytest.raises(InvalidParameterError, match="the name of a column"):
        make(name)


def test_all_aggregators_are_held_to_this():
    exported = {getattr(unskew.window, name) for name in unskew.window.__all__}
    kinds = {each for each in exported if isinstance(each, type) and issubclass(each, Aggregator)}

    assert {type(each) for each in ALL.values()} == kinds - {Aggregator}


def random_rows(length):
    random = np.random.default_rng(length)
    return batch(
        key=pa.array(random.choice(["a", "b", "c"], length).tolist()),
        i=random.integers(-3, 4, length),
        x=random.normal(size=length),
        d=pa.array(random.integers(0, 100, length).tolist(), pa.decimal128(9, 2)),
        s=pa.array(random.choice(["u", "v", "w"], length).tolist()),
    )
