import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.errors import PythonException
from pyspark.sql import functions as F

import unskew
from tests.frames import everything, in_one_job, multiset, samples
from tests.spark.watching import plan
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    UnknownNameError,
)
from unskew.grouping.base import Grouping, GroupingSpec, Router, Trait

ROWS = 30_000
WORKER = "_unskew_worker"
CHECKSUMS = [
    "spark.sql.shuffle.orderIndependentChecksum.enabled",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch",
]
TRAITS = {name: unskew.grouping(name, 2).spec.traits for name in unskew.groupings()}
WHOLE_KEYS = [name for name, traits in TRAITS.items() if Trait.SPLITS_KEYS not in traits]


@pytest.fixture(scope="module")
def skewed(spark):
    """A frame of which one key has a fifth, on four partitions."""
    keys = np.random.default_rng(5).zipf(1.3, ROWS) % 2_000
    weights = np.where(np.arange(ROWS) % 1_000 == 0, 1_000, 1)
    table = pa.table({"row": np.arange(ROWS), "key": keys, "weight": weights})
    return (
        spark.createDataFrame(table)
        .withColumn("payload", F.repeat(F.lit("x"), 100))
        .repartition(4, "row")
    )


def rows_in_partitions(frame):
    """Count the rows of each partition; those of no rows are counted too."""

    def count(batches):
        from pyspark import TaskContext

        rows = sum(batch.num_rows for batch in batches)
        yield pa.RecordBatch.from_pydict(
            {"at": pa.array([TaskContext.get().partitionId()], pa.int32()), "rows": [rows]}
        )

    return {row.at: row.rows for row in frame.mapInArrow(count, "at int, rows long").collect()}


@pytest.fixture(scope="module")
def placed(skewed):
    """The rows with their partitions, by every grouping."""
    spread = {
        name: unskew.repartition(skewed, 7, "key", grouping=name, keep_worker=True)
        for name in unskew.groupings()
    }
    for frame in spread.values():
        assert frame.columns == [*skewed.columns, WORKER]
    partition = F.spark_partition_id().alias("partition")
    # All columns, as all go through the shuffle.
    return in_one_job({name: frame.select("*", partition) for name, frame in spread.items()})


@pytest.mark.parametrize("grouping", unskew.groupings())
def test_the_worker_of_a_row_is_its_partition(placed, grouping):
    found = placed[grouping]

    assert found[WORKER].to_pylist() == found["partition"].to_pylist()
    assert set(found[WORKER].to_pylist()) == set(range(7))
    assert sorted(found["row"].to_pylist()) == list(range(ROWS))


@settings(max_examples=6)
@example(everything(), 3)
@given(samples(), st.integers(2, 9))
def test_a_grouping_that_does_not_split_has_each_key_in_one_partition(spark, sample, n):
    for grouping in WHOLE_KEYS:
        spread = unskew.repartition(sample.frame(spark), n, *sample.keys, grouping=grouping)
        # What is one key is for Spark to say: -0.0 is 0.0, NaN is NaN, null is null.
        partitions = (
            spread.withColumn("partition", F.spark_partition_id())
            .groupBy(*sample.keys)
            .agg(F.count_distinct("partition").alias("partitions"))
        )
        assert {row.partitions for row in partitions.select("partitions").collect()} <= {1}


@pytest.mark.parametrize("rows", [0, 1, 100])
@pytest.mark.parametrize("n", [1, 5])
def test_there_are_as_many_partitions_as_asked_for(spark, n, rows):
    frame = spark.range(rows, numPartitions=3)

    spread = unskew.repartition(frame, n, "id")

    assert spread.columns == ["id"]
    assert spread.rdd.getNumPartitions() == n
    counts = rows_in_partitions(spread)
    assert sum(counts.values()) == rows
    # Spark runs no task at all over what it knows to be empty.
    assert set(counts) == set(range(n)) if rows else set(counts) <= set(range(n))


def test_one_partition_holds_all_rows(skewed):
    spread = unskew.repartition(skewed, 1, "key", keep_worker=True)

    assert rows_in_partitions(spread) == {0: ROWS}
    assert [row[WORKER] for row in spread.select(WORKER).distinct().collect()] == [0]


@pytest.mark.parametrize("grouping", ["waterline", "w-choices", "shuffle"])
def test_partitions_of_a_skewed_frame_are_even(skewed, grouping):
    n = 8

    counts = rows_in_partitions(unskew.repartition(skewed, n, "key", grouping=grouping))

    assert max(counts.values()) <= 1.05 * ROWS / n
    by_spark = rows_in_partitions(skewed.repartition(n, "key"))
    assert max(by_spark.values()) > 1.5 * ROWS / n, "else there is no skew to mend"


def test_weights_are_what_is_even(spark):
    n = 5
    # All heavy rows are of one key of n: counted by rows, one worker would get them all.
    frame = spark.range(10_000, numPartitions=1).withColumn(
        "weight", F.when(F.col("id") % n == 0, 100).otherwise(1)
    )

    def uneven(spread):
        loads = spread.groupBy(F.spark_partition_id()).agg(F.sum("weight").alias("load"))
        found = [row.load for row in loads.collect()]
        return max(found) / (sum(found) / n)

    for weight in ("weight", F.col("weight").cast("decimal(10,2)") * 3):
        assert uneven(unskew.repartition(frame, n, F.col("id") % n, weight=weight)) <= 1.05
    unweighed = unskew.repartition(frame, n, F.col("id") % n)
    assert uneven(unweighed) > 1.5, "else weights change nothing"


@pytest.mark.parametrize("grouping", ["consistent", "bounded", "cg", "key-groups"])
def test_a_faster_worker_gets_more_rows(skewed, grouping):
    spread = unskew.repartition(skewed, 4, "row", grouping=grouping, capacities=[1, 1, 2, 4])

    counts = rows_in_partitions(spread)

    shares = [counts[at] / ROWS for at in range(4)]
    assert shares == pytest.approx([1 / 8, 1 / 8, 2 / 8, 4 / 8], rel=0.3)


def test_one_partition_may_have_a_capacity(skewed):
    spread = unskew.repartition(skewed, 1, "key", grouping="bounded", capacities=[3])

    assert rows_in_partitions(spread) == {0: ROWS}


def test_a_groupby_on_worker_and_key_needs_no_second_shuffle(skewed):
    frame = skewed.sparkSession.range(1_000).withColumn("key", F.col("id") % 10)
    spread = unskew.repartition(frame, 4, "key", keep_worker=True)
    grouped = spread.groupBy(WORKER, "key").count()

    assert plan(grouped).count("Exchange") == 1
    assert sum(row["count"] for row in grouped.collect()) == 1_000
    assert plan(spread.groupBy("key").count()).count("Exchange") == 2, "else nothing is shown"


def test_the_router_gets_nothing_but_hashes(spark):
    frame = spark.range(10).select("id", F.lit("x").alias("a"), F.uuid().alias("payload"))
    hashed = r"ArrowEvalPython \[route\(xxhash64\(id#\w+, a#\w+, 42\)\)#\w+\]"
    length = r"(?:try_)?cast\(length\(\w+#\w+\) as double\)"
    weighed = rf"ArrowEvalPython \[route\(xxhash64\(id#\w+, 42\), {length}\)"
    # Not a literal, which the plan would show in place of its name.
    frame = frame.withColumn("a", F.substring("payload", 1, 3))

    assert re.search(hashed, plan(unskew.repartition(frame, 3, "id", "a")))
    assert re.search(weighed, plan(unskew.repartition(frame, 3, "id", weight=F.length("payload"))))


def test_nothing_runs_before_an_action(spark, skewed):
    context = spark.sparkContext
    context.setJobGroup("lazy", "what runs here")
    try:
        for grouping in unskew.groupings():
            spread = unskew.repartition(skewed, 4, "key", grouping=grouping, weight="weight")
        assert spread.columns == skewed.columns
        assert context.statusTracker().getJobIdsForGroup("lazy") == []

        spread.count()
        assert context.statusTracker().getJobIdsForGroup("lazy"), "else no job would be seen"
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)


def test_a_key_is_a_name_an_expression_or_a_field(spark):
    frame = spark.range(200, numPartitions=2).selectExpr(
        "id", "named_struct('b', id % 7) as a", "id % 7 as `a.b`", "id % 7 as Upper"
    )
    # The same hash by any name, so the same worker.
    workers = [
        unskew.repartition(frame, 5, key, keep_worker=True)
        .select("id", WORKER)
        .orderBy("id")
        .collect()
        for key in ["a.b", "`a.b`", "upper", F.col("id") % 7, frame.Upper, frame["a"]["b"]]
    ]

    assert all(each == workers[0] for each in workers)
    assert len({row[WORKER] for row in workers[0]}) > 1


def test_names_may_come_twice(spark):
    left, right = spark.range(50), spark.range(50).withColumn("more", F.lit(1))
    joined = left.join(right, left.id == right.id)

    spread = unskew.repartition(joined, 3, right.id)

    assert spread.columns == ["id", "id", "more"]
    assert sorted(tuple(row) for row in spread.collect()) == [(at, at, 1) for at in range(50)]


def test_the_columns_of_a_scan_are_made_rows_before_they_wait_for_the_router(spark, tmp_path):
    spark.range(9).write.parquet(str(tmp_path / "rows"))
    scan = spark.read.parquet(str(tmp_path / "rows"))

    shown = plan(unskew.repartition(scan, 3, "id"))

    between = shown[shown.index("ArrowEvalPython") : shown.index("FileScan")]
    assert "Filter (SPARK_PARTITION_ID() >= 0)" in between


def test_a_grouping_may_be_given_as_made(skewed):
    by_name = unskew.repartition(skewed, 6, "key", grouping="pkg")
    made = unskew.repartition(skewed, 6, "key", grouping=unskew.grouping("pkg", 6))
    seeded = unskew.repartition(skewed, 6, "key", grouping=unskew.grouping("pkg", 6, seed=9))

    found = [
        multiset(each.select("row", F.spark_partition_id().alias("at")).toArrow())
        for each in (by_name, made, seeded)
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


@pytest.fixture
def no_checksums(spark):
    before = {name: spark.conf.get(name) for name in CHECKSUMS}
    for name in CHECKSUMS:
        spark.conf.set(name, "false")
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.parametrize("grouping", unskew.groupings())
def test_spark_checks_repeated_tasks_where_order_matters(spark, no_checksums, grouping):
    unskew.repartition(spark.range(10), 3, "id", grouping=grouping)

    needed = Trait.ORDER_DEPENDENT in TRAITS[grouping]
    assert [spark.conf.get(name) for name in CHECKSUMS] == [str(needed).lower()] * 2


def overflowing(n):
    """Make a grouping that sends the last row to a worker that does not exist."""

    @dataclass(frozen=True, slots=True)
    class Overflowing(Grouping):
        spec: ClassVar[GroupingSpec] = GroupingSpec("overflowing", "nobody", Trait.SPLITS_KEYS)

        def _start(self, source):  # noqa: ARG002 - the signature is given
            return Lost(self, {})

    class Lost(Router):
        def _route(self, hashes, weights):  # noqa: ARG002
            return (
                np.arange(len(hashes), dtype=np.int32) + self.grouping.n_workers + 1 - len(hashes)
            )

    return Overflowing(n)


def test_a_worker_that_does_not_exist_fails_the_job(spark):
    # Behind the shuffle it would be worker 0, and nobody would know.
    spread = unskew.repartition(spark.range(3, numPartitions=1), 3, "id", grouping=overflowing(3))

    with pytest.raises(PythonException, match="law of conservation"):
        spread.count()


@pytest.fixture(scope="module")
def frame(spark):
    return spark.range(5).selectExpr(
        "id",
        "map(id, id) as pairs",
        "named_struct('in', array(map(id, id))) as deep",
        "parse_json('1') as json",
        "st_geomfromwkb(X'0101000000000000000000F03F0000000000000040') as shape",
        "'A' collate UTF8_LCASE as text",
    )


class TestBadInput:
    def test_a_missing_column_is_named_with_the_nearest(self, frame):
        with pytest.raises(UnknownNameError, match="no column is called 'ide'; did you mean 'id'"):
            unskew.repartition(frame, 3, "ide")
        with pytest.raises(UnknownNameError, match="no column is called 'ide'; did you mean 'id'"):
            unskew.repartition(frame, 3, F.col("ide") + 1)
        with pytest.raises(UnknownNameError, match="no column is called 'wait'"):
            unskew.repartition(frame, 3, "id", weight="wait")

    def test_a_stream_is_refused(self, spark):
        stream = spark.readStream.format("rate").load()
        with pytest.raises(InvalidTypeError, match="repartition works on batch frames"):
            unskew.repartition(stream, 3, "value")

    @pytest.mark.parametrize("key", ["pairs", "deep", "json", "shape"])
    def test_a_key_that_spark_cannot_hash_is_refused(self, frame, key):
        with pytest.raises(InvalidTypeError, match=rf"`key {key}` is .* cannot be a key"):
            unskew.repartition(frame, 3, key)

    def test_a_collated_key_is_refused(self, frame):
        # xxhash64 tells "a" from "A": a key that is one to Spark would be on two workers.
        with pytest.raises(InvalidTypeError, match="of type string collate UTF8_LCASE; equal keys"):
            unskew.repartition(frame, 3, "text")

        plain = F.collate(F.lower("text"), "UTF8_BINARY")
        assert unskew.repartition(frame, 3, plain).count() == 5

    @pytest.mark.parametrize("n", [0, -1, 2.0, True, "3", None, 2**31])
    def test_a_number_of_partitions_that_is_none_is_refused(self, frame, n):
        with pytest.raises(InvalidParameterError, match="`n` is"):
            unskew.repartition(frame, n, "id")

    def test_a_number_may_be_numpys(self, frame):
        assert unskew.repartition(frame, np.int64(3), "id").rdd.getNumPartitions() == 3

    @pytest.mark.parametrize("name", ["_unskew_worker", "_UNSKEW_worker", "_unskew_mine"])
    def test_a_column_with_a_name_of_ours_is_refused(self, frame, name):
        with pytest.raises(InvalidInputError, match=f"has the column '{name}'"):
            unskew.repartition(frame.withColumnRenamed("json", name), 3, "id")

    def test_no_key_is_refused(self, frame):
        with pytest.raises(InvalidInputError, match="name at least one key column"):
            unskew.repartition(frame, 3)

    @pytest.mark.parametrize("weight", ["pairs", "deep", F.current_date, F.current_timestamp])
    def test_a_weight_that_is_never_a_number_is_refused(self, frame, weight):
        weight = weight if isinstance(weight, str) else weight()
        with pytest.raises(InvalidTypeError, match=r"`weight` is of type .*; pass numbers"):
            unskew.repartition(frame, 3, "id", weight=weight)

    @pytest.mark.parametrize(
        ("weight", "found"),
        [
            ("if(id = 3, null, 1)", "null or no number"),
            ("if(id = 3, 'abc', '1')", "null or no number"),
            ("if(id = 3, -1, 1)", "-1.0"),
        ],
        ids=["null", "text", "negative"],
    )
    def test_a_weight_that_is_not_a_number_in_some_row_is_refused(self, frame, weight, found):
        spread = unskew.repartition(frame, 3, "id", weight=F.expr(weight))
        with pytest.raises(PythonException, match=f"`weight` is {found} in some row"):
            spread.count()

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({"grouping": "w-choice"}, "no grouping is called 'w-choice'; did you mean"),
            ({"grouping": unskew.grouping("pkg", 4)}, "one for 3 workers"),
            ({"grouping": 3}, "pass a name"),
            ({"grouping": unskew.grouping("pkg", 3), "capacities": [1, 1, 2]}, "to the grouping"),
            ({"keep_worker": "yes"}, "expected True or False"),
            (
                {"grouping": "w-choices", "capacities": [1, 1, 2]},
                "'w-choices' takes all workers for equally fast; .*'cg'",
            ),
            ({"grouping": "cg", "capacities": [1, 1]}, "has 2 values for 3 workers"),
            ({"grouping": "cg", "capacities": [1, 0, 1]}, "`capacities` is 0 for worker 1"),
        ],
        ids=[
            "unknown name",
            "other size",
            "no grouping",
            "capacities twice",
            "no flag",
            "no capacities taken",
            "too few capacities",
            "no capacity",
        ],
    )
    def test_settings_that_make_no_sense_are_refused(self, frame, more, message):
        with pytest.raises(unskew.UnskewError, match=message):
            unskew.repartition(frame, 3, "id", **more)

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({"grouping": "w-choice"}, "no grouping is called 'w-choice'; did you mean"),
            ({"grouping": unskew.grouping("pkg", 2)}, "one for 1 workers"),
            ({"grouping": 3}, "pass a name"),
            ({"grouping": "pkg", "capacities": [2]}, "'pkg' takes all workers for equally fast"),
            ({"weight": "pairs"}, "`weight` is of type"),
            ({"grouping": "cg", "capacities": [1, 1]}, "has 2 values for 1 workers"),
            ({"grouping": "cg", "capacities": [0]}, "`capacities` is 0 for worker 0"),
        ],
    )
    def test_what_makes_no_sense_is_refused_for_one_partition_too(self, frame, more, message):
        with pytest.raises(unskew.UnskewError, match=message):
            unskew.repartition(frame, 1, "id", **more)
