import functools
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PythonException
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

import unskew
from tests.frames import in_one_job
from tests.spark.operations import UNLIKE
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    UnknownNameError,
    UnskewError,
)
from unskew.spark.apply import _caller
from unskew.spark.batches import ArrowKind
from unskew.spark.workers import default_workers
from unskew.window import Count

SHUFFLE = "spark.sql.shuffle.partitions"
SCHEMA = "n long, total double, least long"


def summed(rows):
    """Counts, and what differs when a row is lost, repeated or put to another key."""
    total = math.fsum(rows["v"].dropna())
    return pd.DataFrame([[len(rows), total, rows["id"].min()]], columns=["n", "total", "least"])


def merged(partials):
    columns = [partials["n"].sum(), math.fsum(partials["total"]), partials["least"].min()]
    return pd.DataFrame([columns], columns=["n", "total", "least"])


def arrow_summed(rows):
    values = pc.drop_null(rows["v"]).filter(pc.invert(pc.is_nan(pc.drop_null(rows["v"]))))
    total = math.fsum(values.to_pylist())
    return pa.table({"n": [len(rows)], "total": [total], "least": [pc.min(rows["id"]).as_py()]})


def arrow_merged(partials):
    total = math.fsum(partials["total"].to_pylist())
    least = pc.min(partials["least"]).as_py()
    return pa.table({"n": [pc.sum(partials["n"]).as_py()], "total": [total], "least": [least]})


def rounded(table):
    """Every row of the id that is least is another key's, so rows tell keys apart."""
    return sorted((row["n"], round(row["total"], 6), row["least"]) for row in table.to_pylist())


def sparks_own(df, *keys):
    total = F.sum(F.when(~F.isnan("v"), F.col("v")))
    made = df.groupBy(*keys).agg(
        F.count("*").alias("n"),
        F.coalesce(total, F.lit(0.0)).alias("total"),
        F.min("id").alias("least"),
    )
    return made.select("n", "total", "least")


def check(made, df, *keys):
    """Compare with what Spark makes of the same rows."""
    found = in_one_job({"made": made, "Spark": sparks_own(df, *keys)})
    assert rounded(found["made"]) == rounded(found["Spark"])


@pytest.fixture(scope="module")
def skewed(spark):
    random = np.random.default_rng(3)
    ranks = random.zipf(1.5, 6000)
    words = [None if rank % 17 == 0 else f"wörd-{rank}" for rank in ranks.tolist()]
    table = pa.table(
        {
            "word": words,
            "number": pa.array(ranks % 7, pa.int32()),
            "real": np.where(ranks % 5 == 0, np.nan, np.where(ranks % 3 == 0, -0.0, 0.0)),
            "pair": pa.array([{"a": int(r % 3), "b": None} for r in ranks]),
            "v": random.random(6000),
            "id": np.arange(6000),
        }
    )
    return spark.createDataFrame(table).repartition(5).cache()


KEYS = [("word",), ("number",), ("real",), ("pair",), ("word", "number"), ("pair", "real")]


@pytest.mark.parametrize("keys", KEYS, ids="-".join)
def test_pandas_results_are_sparks_own(skewed, keys):
    grouped = unskew.group_by(skewed, *keys, workers=5)

    made = grouped.apply_in_pandas(summed, SCHEMA, merge=merged, max_rows_per_call=100)

    check(made, skewed, *keys)


@pytest.mark.parametrize("keys", KEYS, ids="-".join)
def test_arrow_results_are_sparks_own(skewed, keys):
    grouped = unskew.group_by(skewed, *keys, workers=5, grouping="pkg")

    made = grouped.apply_in_arrow(arrow_summed, SCHEMA, merge=arrow_merged, max_rows_per_call=100)

    check(made, skewed, *keys)


def test_groupings_of_every_sort_give_the_same_result(skewed):
    made = {
        name: unskew.group_by(skewed, "word", workers=4, grouping=name).apply_in_pandas(
            summed, SCHEMA, merge=merged
        )
        for name in UNLIKE
    }

    wanted, *found = map(rounded, in_one_job({"": sparks_own(skewed, "word")} | made).values())
    assert dict(zip(made, found, strict=True)) == dict.fromkeys(made, wanted)


@pytest.mark.parametrize("apply", ["apply_in_pandas", "apply_in_arrow"])
def test_without_a_merge_keys_are_handed_over_whole(skewed, apply):
    function = summed if apply == "apply_in_pandas" else arrow_summed
    grouped = unskew.group_by(skewed, "word", workers=3, grouping="key")

    check(getattr(grouped, apply)(function, SCHEMA), skewed, "word")


def test_a_key_may_be_an_expression(skewed):
    first = F.substring("word", 1, 6)

    made = unskew.group_by(skewed, first, workers=3).apply_in_pandas(summed, SCHEMA, merge=merged)

    check(made, skewed, first)


def test_a_function_may_ask_for_the_key(skewed):
    def named(key, rows):
        return pd.DataFrame({"word": [key[0]], "n": [len(rows)]})

    def both(key, partials):
        return pd.DataFrame({"word": [key[0]], "n": [partials["n"].sum()]})

    made = unskew.group_by(skewed, "word", workers=3).apply_in_pandas(
        named, "word string, n long", merge=both, max_rows_per_call=500
    )

    assert {row.word: row.n for row in made.collect()} == {
        row.word: row["count"] for row in skewed.groupBy("word").count().collect()
    }


def test_no_part_is_longer_than_allowed(skewed):
    def longest(rows):
        return pd.DataFrame({"longest": [len(rows)], "parts": [1]})

    def all_of_them(partials):
        return pd.DataFrame(
            {"longest": [partials["longest"].max()], "parts": [partials["parts"].sum()]}
        )

    made = unskew.group_by(skewed, F.lit(1), workers=2, grouping="shuffle").apply_in_pandas(
        longest, "longest long, parts long", merge=all_of_them, max_rows_per_call=70
    )

    assert [tuple(row) for row in made.collect()] == [(70, 2 * math.ceil(3000 / 70))]


def test_a_partial_may_have_other_columns_than_the_result(skewed):
    def spans(rows):
        return pd.DataFrame({"low": [rows["id"].min()], "high": [rows["id"].max()]})

    def width(partials):
        return pd.DataFrame({"width": [partials["high"].max() - partials["low"].min()]})

    made = unskew.group_by(skewed, "number", workers=3).apply_in_pandas(
        spans, "width long", merge=width, partial_schema="low long, high long"
    )

    wanted = skewed.groupBy("number").agg((F.max("id") - F.min("id")).alias("width"))
    assert sorted(made.collect()) == sorted(wanted.select("width").collect())


def test_a_function_may_give_no_row_or_many(skewed):
    def some(rows):
        return rows[["id"]] if rows["number"].iloc[0] % 2 else rows[["id"]].head(0)

    made = unskew.group_by(skewed, "number", workers=3).apply_in_pandas(
        some, "id long", merge=lambda rows: rows
    )

    wanted = skewed.where("number % 2 = 1").select("id")
    assert sorted(made.collect()) == sorted(wanted.collect())


class Counting:
    """What is called need not be a plain function."""

    def of_method(self, rows):
        return counted(rows)

    def __call__(self, rows):
        return counted(rows)


def counted(rows, _of=None, *, to=0):
    return pd.DataFrame({"n": [len(rows) + to]})


def with_keyword(rows, *, to=0):
    return counted(rows, to=to)


def with_any(rows, **_options):
    return counted(rows)


def with_default(_key, rows=None):
    return counted(rows)


@pytest.mark.parametrize(
    "function",
    [
        with_keyword,
        with_any,
        with_default,
        functools.partial(counted, to=0, _of=None),
        functools.partial(with_default, None),
        Counting().of_method,
        Counting(),
    ],
    ids=["keyword", "keywords", "default", "partial", "bound", "method", "object"],
)
def test_a_function_gets_as_many_arguments_as_it_has_by_position(function):
    call = _caller(function, "partial")

    assert call(lambda: ("key",), pd.DataFrame({"id": [1, 2]}))["n"].tolist() == [2]


def test_a_key_is_skipped_by_a_result_without_columns(skewed):
    def odd(rows):
        return counted(rows) if rows["number"].iloc[0] % 2 else pd.DataFrame()

    def odd_in_arrow(rows):
        return pa.table({"n": [len(rows)]}) if rows["number"][0].as_py() % 2 else pa.table({})

    wanted = skewed.where("number % 2 = 1").groupBy("number").agg(F.count("*").alias("n"))
    grouped = unskew.group_by(skewed, "number", workers=3, grouping="key")
    for made in (
        grouped.apply_in_pandas(odd, "n long"),
        grouped.apply_in_arrow(odd_in_arrow, "n long"),
    ):
        assert sorted(made.collect()) == sorted(wanted.select("n").collect())


def test_results_in_arrow_may_differ_in_what_is_one_to_spark(skewed):
    def one_way_or_another(rows):
        number = rows["number"][0].as_py()
        names = pa.array([str(number)], [pa.string(), pa.large_string()][number % 2])
        fields = [
            pa.field("name", names.type, nullable=number % 3 == 0),
            pa.field("n", pa.int64(), metadata={"number": str(number)}),
        ]
        return pa.table([names, pa.array([len(rows)])], schema=pa.schema(fields))

    made = unskew.group_by(skewed, "number", workers=2, grouping="key").apply_in_arrow(
        one_way_or_another, "name string, n long"
    )

    counts = skewed.groupBy(F.col("number").cast("string").alias("name")).count()
    assert sorted(made.collect()) == sorted(counts.collect())


def test_text_that_is_not_utf8_may_be_a_key(spark):
    frame = spark.range(20, numPartitions=2).selectExpr(
        "cast(if(id % 2 = 0, unhex('FF'), unhex('FE')) as string) as s",
        "named_struct('in', array(s)) as deep",
        "id",
    )

    for key in ("s", "deep"):
        made = unskew.group_by(frame, key, workers=2).apply_in_arrow(
            lambda rows: pa.table({"n": [len(rows)]}),
            "n long",
            merge=lambda parts: pa.table({"n": [pc.sum(parts["n"]).as_py()]}),
            max_rows_per_call=3,
        )
        assert [row.n for row in made.collect()] == [10, 10]


@pytest.mark.parametrize("name", ["a.b", "a`b", "a b", "ä"])
def test_columns_may_have_any_name(spark, name):
    frame = spark.range(20, numPartitions=2).select((F.col("id") % 3).alias(name))
    schema = StructType([StructField(name, LongType())])

    made = unskew.group_by(frame, F.lit(1), workers=2).apply_in_pandas(
        lambda rows: rows[[name]].head(1),
        schema,
        merge=lambda parts: pd.DataFrame({name: [parts[name].max()]}),
        max_rows_per_call=1,
    )

    assert made.columns == [name]
    assert [tuple(row) for row in made.collect()] == [(2,)]


def test_whole_numbers_keep_every_digit_beside_results_of_another_type(skewed):
    big = 2**53 + 1

    def either(rows):
        number = int(rows["number"].iloc[0])
        values = [big + number] if number % 2 else pd.array([pd.NA], dtype="Int64")
        return pd.DataFrame({"value": values})

    made = unskew.group_by(skewed, "number", workers=2).apply_in_pandas(
        either, "value long", merge=lambda partials: partials.head(1)
    )

    numbers = [row.number for row in skewed.select("number").distinct().collect()]
    assert {row.value for row in made.collect()} == {
        big + number if number % 2 else None for number in numbers
    }


def test_agg_is_sparks_own(skewed):
    grouped = unskew.group_by(skewed, "word")
    columns = [F.sum("v").alias("sum"), F.sort_array(F.collect_set("number")).alias("numbers")]

    made = grouped.agg(*columns)

    assert sorted(made.collect(), key=str) == sorted(
        skewed.groupBy("word").agg(*columns).collect(), key=str
    )
    assert "Spark's own groupBy(word).agg" in grouped.explain(*columns)


def told(frame, column):
    return unskew.group_by(frame, "number").explain(column)


def test_explain_says_what_a_hot_key_costs(skewed):
    @F.pandas_udf("double")
    def middle(values: pd.Series) -> float:
        return float(values.median())

    free = "does not weigh on one task"
    assert told(skewed, F.sum("v") + F.avg("v")).endswith(free + ".")
    assert told(skewed, F.max("word")).endswith(free + ".")
    assert free in told(skewed, F.count_distinct("word"))
    assert free in told(skewed, F.percentile_approx("v", 0.5))
    assert "collect_list keeps every value" in told(skewed, F.collect_list("v"))
    assert "collect_set keeps every distinct value" in told(skewed, F.collect_set("v"))
    assert "percentile keeps every distinct value" in told(skewed, F.median("v"))
    assert "mode keeps every distinct value" in told(skewed, F.mode("v").alias("m"))
    assert "already" in told(skewed.repartition(3, "number"), F.sum("v"))
    counted_twice = skewed.groupBy("number", "word").count().repartition(3, "number")
    assert "already" in told(counted_twice, F.sum("count"))
    assert "hands all rows of a key to a Python function" in told(skewed, middle("v"))


def test_explain_names_what_it_explains(skewed):
    @F.pandas_udf("double")
    def middle(values: pd.Series) -> float:
        return float(values.median())

    lines = unskew.group_by(skewed, "word").explain(
        middle("v"), F.sum("v").alias("all"), F.mode("number")
    )

    names = [line.split(": Spark's own groupBy(word).agg. ")[0] for line in lines.splitlines()]
    assert names == ["middle(v)", "all", "mode(number)"]
    assert unskew.group_by(skewed, "word").explain() == "agg: Spark's own groupBy(word).agg."


@pytest.mark.parametrize(("setting", "workers"), [("7", 7), ("1", 1), ("auto", 200), (None, 200)])
def test_workers_are_the_partitions_of_a_shuffle_where_these_are_a_number(setting, workers):
    conf = SimpleNamespace(get=lambda name, default: {SHUFFLE: setting}[name] or default)

    assert default_workers(SimpleNamespace(conf=conf)) == workers


@pytest.mark.parametrize(
    "function",
    [
        lambda: F.percentile("v", F.lit(0.3)),
        lambda: F.mode("number"),
        lambda: F.sort_array(F.collect_list("v")),
        lambda: F.max_by("id", "v"),
    ],
    ids=["percentile", "mode", "collect_list", "max_by"],
)
def test_any_aggregate_is_sparks_own(skewed, function):
    found = function().alias("found")

    made = unskew.group_by(skewed, "pair", workers=4).agg(found)

    assert sorted(made.collect(), key=str) == sorted(
        skewed.groupBy("pair").agg(found).collect(), key=str
    )


def test_nothing_runs_before_an_action(spark):
    broken = spark.range(3).withColumn("key", F.raise_error(F.lit("it ran")))
    grouped = unskew.group_by(broken, "key", workers=2)

    frames = [
        grouped.agg(F.count("*")),
        grouped.aggregate(Count()),
        grouped.apply_in_pandas(merged, SCHEMA, merge=merged),
        grouped.apply_in_arrow(arrow_merged, SCHEMA, merge=arrow_merged),
    ]

    for frame in frames:
        with pytest.raises(Exception, match="it ran"):
            frame.collect()


FRAMES = st.lists(
    st.tuples(
        st.one_of(st.none(), st.sampled_from(["", "a", "ä", "\U0001f600", "x" * 50]), st.text()),
        st.one_of(st.none(), st.sampled_from([0.0, -0.0, math.nan, 1.5])),
    ),
    max_size=60,
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=FRAMES, partitions=st.integers(1, 6), name=st.sampled_from(unskew.groupings()))
def test_any_frame_gives_sparks_own_result(spark, rows, partitions, name):
    table = pa.table(
        {
            "text": pa.array([text for text, _ in rows], pa.string()),
            "real": pa.array([real for _, real in rows], pa.float64()),
            "v": np.arange(len(rows)) / 4,
            "id": np.arange(len(rows)),
        }
    )
    df = spark.createDataFrame(table).repartition(partitions)

    made = unskew.group_by(df, "text", "real", workers=3, grouping=name).apply_in_pandas(
        summed, SCHEMA, merge=merged, max_rows_per_call=7
    )

    check(made, df, "text", "real")


# --- what is refused ---------------------------------------------------------------------------


def test_a_split_without_a_merge_is_refused_with_the_way_out(skewed):
    with pytest.raises(InvalidInputError, match=r"`merge` is missing.*grouping='key'"):
        unskew.group_by(skewed, "word").apply_in_pandas(summed, SCHEMA)


def test_an_unknown_key_gets_a_suggestion(skewed):
    with pytest.raises(UnknownNameError, match="'wrod'; did you mean 'word'"):
        unskew.group_by(skewed, "wrod")


def test_a_map_is_no_key(skewed):
    with pytest.raises(InvalidTypeError, match="a map cannot be a key"):
        unskew.group_by(skewed.withColumn("m", F.create_map("word", "v")), "m")


@pytest.mark.parametrize("workers", [0, 1, -2, 2.5])
def test_a_number_of_workers_that_cannot_be_is_refused(skewed, workers):
    with pytest.raises(InvalidParameterError, match=f"`workers` is {workers}"):
        unskew.group_by(skewed, "word", workers=workers)


def test_a_streaming_frame_is_refused(spark):
    stream = spark.readStream.format("rate").load()

    with pytest.raises(InvalidTypeError, match="streaming"):
        unskew.group_by(stream, "value")


def test_helper_names_in_a_frame_are_refused(skewed):
    with pytest.raises(InvalidInputError, match="_unskew_x"):
        unskew.group_by(skewed.withColumn("_unskew_x", F.lit(1)), "word")


@pytest.mark.parametrize("function", [lambda: None, lambda _a, _b, _c: None, "no function"])
def test_a_function_that_cannot_be_called_is_refused(skewed, function):
    with pytest.raises((InvalidInputError, InvalidTypeError), match="partial"):
        unskew.group_by(skewed, "word").apply_in_pandas(function, SCHEMA, merge=merged)


def test_an_error_of_the_user_names_the_key(skewed):
    def broken(rows):
        if rows["number"].iloc[0] == 3:
            raise ValueError("three is too much")
        return summed(rows)

    made = unskew.group_by(skewed, "number", workers=2).apply_in_pandas(
        broken, SCHEMA, merge=merged
    )

    with pytest.raises(PythonException) as caught:
        made.collect()
    assert "three is too much" in str(caught.value)
    assert "for the key (3,)" in str(caught.value)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (pd.DataFrame({"n": [1]}), "gave no column 'total' but n"),
        (pd.DataFrame([[1]]), "gave 1 columns"),
        (pd.DataFrame([[1, 2, 3, 4]], columns=[*"abc", "n"]), "gave no column 'total'"),
        (
            pd.DataFrame([[1, 2.0, 3.0, 4]], columns=["n", "total", "least", "more"]),
            "gave a column 'more', which the schema does not have",
        ),
        ([1, 2], "a list; return a DataFrame"),
    ],
    ids=["missing", "too few", "others", "too many", "no frame"],
)
def test_a_result_that_does_not_fit_the_schema_is_refused(skewed, result, message):
    made = unskew.group_by(skewed, "number", workers=2).apply_in_pandas(
        lambda _rows: result, SCHEMA, merge=merged
    )

    with pytest.raises(PythonException, match=message):
        made.collect()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (pa.table({"n": pa.array([1], pa.int32())}), "gave 'n' as int32, not as bigint"),
        (pa.table({"n": pa.array([1], pa.uint64())}), "gave 'n' as uint64, not as bigint"),
        (pa.table({"n": [1], "more": [1]}), "gave a column 'more', which the schema does not"),
        (pa.table([[1], [2]], names=["n", "n"]), "gave a column twice: n, n"),
        (pd.DataFrame({"n": [1]}), "a DataFrame; return a pyarrow.Table"),
    ],
    ids=["narrow", "unsigned", "too many", "twice", "no table"],
)
def test_a_result_in_arrow_that_does_not_fit_the_schema_is_refused(result, message):
    schema = StructType([StructField("n", LongType())])
    results = ArrowKind().results([], schema, "partial")

    with pytest.raises(UnskewError, match=message):
        list(results.add(None, 0, result))
