"""Kills of executors are in test_cluster; here is what keeps them harmless."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import unskew
from tests.frames import PLACE, PLACES, ROW, everything, in_one_job
from tests.spark.watching import plan
from unskew.spark.replay import replayable

SORT = "Sort [_unskew_"
GROUPING = unskew.grouping("w-choices", 3)


@pytest.fixture(scope="module")
def scan(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("scan") / "rows")
    spark.range(100).withColumn("key", F.col("id") % 7).write.parquet(path)
    return spark.read.parquet(path)


def test_rows_of_a_scan_stay_as_they_are(spark, scan):
    small = spark.range(5).withColumn("name", F.lit("x"))
    frames = [
        scan,
        scan.where("id > 3").withColumn("more", F.lit(1)),
        scan.union(scan),
        scan.join(F.broadcast(small), "id"),
        spark.range(10),
    ]
    for frame in frames:
        assert SORT not in plan(replayable(frame, GROUPING))


@pytest.fixture
def bucketed(spark, scan, tmp_path):
    """A table that is grouped by its key without a shuffle."""
    scan.write.bucketBy(2, "key").option("path", str(tmp_path / "rows")).saveAsTable("bucketed")
    yield spark.table("bucketed")
    spark.sql("DROP TABLE bucketed")


def test_rows_that_may_change_places_are_sorted(spark, scan, bucketed):
    assert "Exchange" not in plan(bucketed.groupBy("key").count())
    other = spark.range(50).hint("merge")
    frames = [
        scan.repartition(3),
        scan.repartition(3, "key").where("id > 3"),
        scan.join(other, "id"),
        scan.groupBy("key").agg(F.collect_list("id").alias("ids")),
        scan.distinct(),
        scan.limit(5),
        scan.orderBy("key").limit(5),
        scan.sortWithinPartitions("key"),
        scan.rdd.repartition(3).toDF(),
        bucketed.groupBy("key").count(),
    ]
    for frame in frames:
        assert SORT in plan(replayable(frame, GROUPING)), plan(frame)
        assert replayable(frame, GROUPING).columns == frame.columns
        assert SORT not in plan(replayable(frame, unskew.grouping("key", 3)))


@settings(max_examples=8)
@given(st.permutations(range(everything().table.num_rows)))
def test_routes_do_not_depend_on_the_order_behind_a_shuffle(spark, order):
    sample = everything()
    found = in_one_job(
        {
            name: unskew.repartition(
                spark.createDataFrame(table)
                # Rows that cannot be hashed as they are, too.
                .withColumn("pairs", F.create_map(F.col(ROW), F.col("text")))
                .withColumn("json", F.to_variant_object(F.array(ROW)))
                .withColumn("twins", F.struct(F.col(ROW).alias("a"), F.col("real").alias("A")))
                .repartitionById(PLACES, F.col(PLACE)),
                3,
                F.lit("one hot key"),
                keep_worker=True,
            ).select(ROW, "_unskew_worker")
            for name, table in {"one": sample.table, "other": sample.table.take(order)}.items()
        }
    )
    workers = [
        dict(zip(table[ROW].to_pylist(), table["_unskew_worker"].to_pylist(), strict=True))
        for table in found.values()
    ]
    assert workers[0] == workers[1]
    assert len(set(workers[0].values())) == 3


@pytest.mark.parametrize(
    "value",
    [
        "sum(cost)",
        "map('all', sum(cost))",
        "collect_list(cost)",
        "named_struct('most', max(cost), 'in', named_struct('all', sum(cost)))",
    ],
)
def test_routes_do_not_depend_on_values_that_depend_on_the_order(spark, value):
    random = np.random.default_rng(1)
    ids = np.arange(3000)
    table = pa.table({"user": ids % 50, "page": ids % 11, "cost": random.random(len(ids)) * 1e6})

    def routed(rows):
        arrived = (
            spark.createDataFrame(rows).coalesce(1).repartitionById(3, F.expr("int(user % 3)"))
        )
        made = arrived.groupBy("user", "page").agg(F.expr(value).alias("value"))
        spread = unskew.repartition(made, 8, "page", keep_worker=True).collect()
        return {(row.user, row.page): (row.value, row["_unskew_worker"]) for row in spread}

    found, again = routed(table), routed(table.take(random.permutation(len(ids))))

    assert any(found[key][0] != again[key][0] for key in found), "else nothing is shown"
    assert all(found[key][1] == again[key][1] for key in found)


@pytest.fixture
def cached(spark):
    frame = spark.range(100).withColumn("key", F.col("id") % 3).cache()
    frame.count()
    yield frame
    frame.unpersist()


def test_what_is_cached_stays_cached(cached, tmp_path):
    level = cached.storageLevel
    assert level.useMemory

    spread = unskew.repartition(cached, 3, "key")
    unskew.write_balanced(cached, str(tmp_path / "out"), "key", files=2)

    assert cached.storageLevel == level
    assert "InMemoryTableScan" in plan(spread)
    assert "InMemoryTableScan" in plan(cached.where("id > 3"))
