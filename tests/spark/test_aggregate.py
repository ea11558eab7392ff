import math
import mmap
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F

import unskew
from tests.frames import in_one_job
from tests.spark.operations import UNLIKE
from unskew.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from unskew.spark.partials import Partials, Steps, consolidate, put_together
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
    predict,
)

ROWS = 20_000


@pytest.fixture(scope="module")
def skewed(spark):
    random = np.random.default_rng(5)
    ranks = random.zipf(1.4, ROWS) % 300
    table = pa.table(
        {
            "key": [None if rank == 2 else f"key-{rank}" for rank in ranks.tolist()],
            "whole": pa.array(random.integers(-1000, 1000, ROWS), mask=random.random(ROWS) < 0.1),
            "real": pa.array(random.normal(3, 2, ROWS), mask=ranks == 7),
            "item": [f"item-{item}" for item in random.zipf(1.6, ROWS) % 50],
        }
    )
    return spark.createDataFrame(table).repartition(5).cache()


def by_key(frame):
    return {row.key: row for row in frame.collect()}


def test_sums_and_moments_are_those_of_spark(skewed):
    many = Many(
        all=Count(),
        some=Count("real"),
        whole=Sum("whole"),
        real=Mean("real"),
        spread=Variance("real"),
        wide=StandardDeviation("whole"),
    )

    expected = skewed.groupBy("key").agg(
        F.count("*").alias("all_count"),
        F.count("real").alias("some_count"),
        F.sum("whole").alias("whole_sum"),
        F.mean("real").alias("real_mean"),
        F.var_samp("real").alias("spread_variance"),
        F.stddev_samp("whole").alias("wide_stddev"),
    )
    made = {
        name: unskew.group_by(skewed, "key", workers=4, grouping=name).aggregate(many)
        for name in UNLIKE
    }

    tables = in_one_job({"": expected} | made)
    wanted, *found = ({row["key"]: row for row in t.to_pylist()} for t in tables.values())
    assert None in wanted
    for name, rows in zip(made, found, strict=True):
        assert rows.keys() == wanted.keys(), name
        for key, row in wanted.items():
            for column, there in row.items():
                here = rows[key][column]
                same = here == there or math.isclose(here, there, rel_tol=1e-9)
                assert same, (name, key, column, here, there)


def test_top_k_has_what_is_frequent(skewed):
    k, capacity = 5, 20
    found = by_key(
        unskew.group_by(skewed, "key", workers=4).aggregate(TopK("item", k, capacity=capacity))
    )

    counts = Counter((row.key, row.item) for row in skewed.collect())
    for key, row in found.items():
        own = {item: count for (other, item), count in counts.items() if other == key}
        total = sum(own.values())
        listed = {each["value"]: each for each in row[1]}
        for item, each in listed.items():
            assert each["count"] - each["error"] <= own.get(item, 0) <= each["count"]
        certain = [item for item, count in own.items() if count > total / k]
        assert set(certain) <= listed.keys()


def test_histograms_hold_all_values(skewed):
    found = by_key(unskew.group_by(skewed, "key", workers=4).aggregate(Histogram("real", bins=8)))

    expected = by_key(
        skewed.groupBy("key").agg(
            F.count("real").alias("n"), F.min("real").alias("low"), F.max("real").alias("high")
        )
    )
    for key, row in expected.items():
        histogram = found[key].histogram
        assert sum(each["count"] for each in histogram.bins) == row.n
        assert (histogram.low, histogram.high) == (row.low, row.high)


def test_naive_bayes_learns_from_split_words(spark):
    texts = [("spam", "buy now cheap"), ("ham", "see you at noon"), ("spam", "cheap cheap buy")]
    words = [(label, word) for label, text in texts * 50 for word in text.split()]
    frame = spark.createDataFrame(words, "label string, word string").repartition(4)
    learner = NaiveBayes("label")

    counted = unskew.group_by(frame, "word", workers=3).aggregate(learner).toArrow()

    assert len(counted) == len({word for _, word in words})
    whole = unskew.group_by(frame, "word", workers=3, grouping="key").aggregate(learner).toArrow()
    order = [("word", "ascending")]
    assert counted.sort_by(order) == whole.sort_by(order)
    assert predict(counted, [["cheap", "now"], ["noon"]]).to_pylist() == ["spam", "ham"]


def test_inputs_may_be_fields_or_have_dots(spark):
    frame = spark.range(20).selectExpr(
        "id % 3 as k", "named_struct('x', id) as s", "id as `a.b`", "id + 1 as `t``t`"
    )
    plain = spark.range(20).selectExpr("id % 3 as k", "id as `a.b`", "id as _c")
    grouped = unskew.group_by(frame, "k", workers=2)
    many = Many(field=Mean("s.x"), dotted=Mean("`a.b`"), tick=Mean("T`t"), some=TopK("s.x", 1))

    found = {row.k: row for row in grouped.aggregate(many).collect()}
    dotted = {
        row.k: row.mean
        for row in unskew.group_by(plain, "k", workers=2).aggregate(Mean("a.b")).collect()
    }

    for key, mean in ((0, 9.0), (1, 10.0), (2, 9.5)):
        row = found[key]
        assert (row.field_mean, row.dotted_mean, row.tick_mean) == (mean, mean, mean + 1)
        assert dotted[key] == mean
        assert row.some_top[0].value in range(key, 20, 3)


def test_partials_are_merged_as_they_pile_up(monkeypatch):
    monkeypatch.setattr("unskew.spark.partials._MERGE_FROM", 4)
    monkeypatch.setattr("unskew.spark.partials._HOLD", 8)
    partials = Partials(steps_of(Count(), 1))

    for start in range(0, 100, 5):
        batch = pa.record_batch({"key": [*range(start, start + 4), 0], "count": [1] * 5})
        if held := list(partials.add(batch)):
            break

    assert start < 95, "else it would hold whatever comes"
    (held,) = held
    assert sum(held["count"].to_pylist()) == start + 5
    assert len(set(held["key"].to_pylist())) == len(held)
    assert list(partials.rest()) == []


def steps_of(aggregator, keys, inputs=()):
    schema = pa.schema(inputs)
    partial, result = aggregator.partial_schema(schema), aggregator.result_schema(schema)
    return Steps(aggregator, keys, partial, result)


@pytest.mark.parametrize("least", [1, 50, 400])
def test_partials_of_any_size_are_merged_in_bounded_pieces(monkeypatch, least):
    """What has more bytes than Arrow holds in a column, with smaller numbers."""
    for bound in ("_MERGE_BYTES", "_HOLD_BYTES", "_PIECE_BYTES"):
        monkeypatch.setattr(f"unskew.spark.partials.{bound}", least)
    top = TopK("word", 3)
    steps = steps_of(top, 1, [("word", pa.string())])
    keys = [f"key-{at % 7:>020}" for at in range(300)]
    words = pa.record_batch({"key": keys, "word": [f"word-{at % 5}" for at in range(300)]})
    partials = Partials(steps)
    kept, largest = [], 0

    for start in range(0, 300, 20):
        for held in partials.add(steps.compute(words.slice(start, 20))):
            kept.append(held)
            largest = max(largest, held.nbytes)
    kept += partials.rest()

    assert len(kept) > 3, "nothing was cut"
    assert largest < 20 * least + 400
    (whole,) = [steps.compute(words)]
    assert sum(sum(each["total"].to_pylist()) for each in kept) == 300
    assert finished(steps, kept) == finished(steps, [whole])


def finished(steps, batches):
    """Consolidate partials as Spark hands them over: sorted by a hash, here of two values only."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    schema = pa.schema([pa.field("hash", pa.int64()), *batches[0].schema])
    hashed = sorted(({"hash": int(row["key"][-1]) % 2, **row} for row in rows), key=hash_of)
    table = pa.Table.from_pylist(hashed, schema)
    stream = table.to_batches(max_chunksize=4)
    steps = Steps(steps.aggregator, 2, steps.partial, steps.result)
    made = [row for batch in consolidate(steps)(iter(stream)) for row in batch.to_pylist()]
    assert len({row["key"] for row in made}) == len(made), "a key has two results"
    return sorted(made, key=lambda row: row["key"])


def hash_of(row):
    return row["hash"]


def test_partials_that_no_column_can_hold_are_an_error():
    # Memory that is never touched, and so takes none.
    content = pa.py_buffer(mmap.mmap(-1, 1 << 30))
    offsets = pa.array([0, 1 << 30], pa.int32()).buffers()[1]
    half = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, content])
    batch = pa.RecordBatch.from_arrays([half], names=["key"])

    with pytest.raises(InvalidInputError, match="too large to be merged: offset overflow"):
        put_together([batch, batch])


def broken(step):
    """Make an aggregator that breaks its promise in one step."""

    class Broken(Aggregator):
        inputs = ()

        def partial_schema(self, inputs):  # noqa: ARG002
            return pa.schema([("n", pa.int64())])

        result_schema = partial_schema

        def compute(self, rows, groups):  # noqa: ARG002
            if step == "raise":
                raise ZeroDivisionError("of the user")
            if step == "compute":
                return pa.record_batch({"n": pa.array([0.5] * groups.size)})
            if step == "rows":
                return pa.record_batch({"n": pa.array([0] * (groups.size + 1))})
            return pa.record_batch({"n": pa.array(np.bincount(groups.codes))})

        def merge(self, partials, groups):
            if step == "merge":
                return pa.record_batch({"n": pa.array([0.5] * groups.size)})
            return pa.record_batch({"n": np.bincount(groups.codes, partials["n"]).astype(int)})

        def finish(self, partials):
            return partials.rename_columns(["m"]) if step == "finish" else partials

    return Broken()


class TestBadInput:
    @pytest.mark.parametrize(
        ("step", "message"),
        [
            ("compute", "Broken.compute gave struct<n:double>; return what its schema says"),
            ("merge", "Broken.merge gave struct<n:double>; return what its schema says"),
            ("finish", "Broken.finish gave struct<m:bigint>; return what its schema says"),
            ("rows", "Broken.compute gave .* rows; return a record batch with a row for each"),
            ("raise", "ZeroDivisionError: of the user"),
        ],
    )
    def test_an_aggregator_that_breaks_its_promise_is_named(self, skewed, step, message):
        made = unskew.group_by(skewed, "key", workers=3).aggregate(broken(step))

        with pytest.raises(PythonException, match=message):
            made.collect()

    def test_one_that_keeps_it_is_not(self, skewed):
        made = unskew.group_by(skewed, "key", workers=3).aggregate(broken(None))

        assert sum(row.n for row in made.collect()) == ROWS

    def test_something_else_is_refused(self, skewed):
        with pytest.raises(InvalidTypeError, match=r"pass an unskew\.window\.Aggregator"):
            unskew.group_by(skewed, "key").aggregate("count")

    def test_a_missing_input_is_refused(self, skewed):
        with pytest.raises(UnknownNameError, match="did you mean 'real'"):
            unskew.group_by(skewed, "key").aggregate(Mean("reel"))

    def test_an_input_of_the_wrong_type_is_refused(self, skewed):
        with pytest.raises(unskew.UnskewError, match="item"):
            unskew.group_by(skewed, "key").aggregate(Sum("item"))

    def test_a_result_named_as_a_key_is_refused(self, skewed):
        for name in ("count", "Count"):
            renamed = skewed.withColumnRenamed("key", name)
            with pytest.raises(InvalidInputError, match=f"'count', as the key '{name}' is called"):
                unskew.group_by(renamed, name).aggregate(Count())

    @pytest.mark.parametrize("made", ["make_interval(1)", "array(make_ym_interval(1))"])
    def test_a_key_that_has_no_form_in_arrow_is_refused(self, spark, made):
        frame = spark.range(3).selectExpr(f"{made} as months")
        with pytest.raises(InvalidTypeError, match=r"`key months` .* cast it to a string"):
            unskew.group_by(frame, "months").aggregate(Count())

        text = F.to_json(F.struct("months")) if "array" in made else F.col("months").cast("string")
        assert unskew.group_by(frame, text.alias("m")).aggregate(Count()).collect()[0]["count"] == 3
