"""Run by test_connect in a process of its own: unskew on a Connect server, without Classic Spark.

A process that has had a Classic session cannot have another. Here Classic cannot even be imported,
as where only ``pyspark-client`` is installed, so whatever needs it fails.
"""

# ruff: noqa: E402 - modules must be gone before the others look for them
import contextlib
import io
import json
import sys
import tempfile

sys.modules["pyspark.core"] = None
sys.modules["py4j"] = None

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import unskew
from tests.frames import ROW, everything, in_one_job
from tests.spark.operations import OPERATIONS, UNLIKE, all_differences, differences
from unskew.spark.sketches import DistinctCount

WORKER = "_unskew_worker"
CHECKSUMS = [
    "spark.sql.shuffle.orderIndependentChecksum.enabled",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch",
]


def misplaced(spark):
    """Count the rows whose worker is not their partition."""
    frame = spark.range(500, numPartitions=4).withColumn("key", F.col("id") % 7)
    elsewhere = F.count_if(F.col(WORKER) != F.col("partition"))
    counts = {}
    for grouping in unskew.groupings():
        spread = unskew.repartition(frame, 3, "key", grouping=grouping, keep_worker=True)
        placed = spread.withColumn("partition", F.spark_partition_id())
        counts[grouping] = placed.agg(
            elsewhere.alias("elsewhere"), F.count("*").alias("rows"), F.max(WORKER).alias("last")
        )
    return {
        grouping: list(table.to_pylist()[0].values())
        for grouping, table in in_one_job(counts).items()
    }


def exchanges(spark):
    frame = spark.range(10).withColumn("key", F.col("id") % 7)
    spread = unskew.repartition(frame, 3, "key", keep_worker=True)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        spread.groupBy(WORKER, "key").count().explain()
    return text.getvalue().count("Exchange")


def checksums(spark):
    """Say how the checksums stand once each grouping was used, if they were off before."""
    found = {}
    for grouping in unskew.groupings():
        for name in CHECKSUMS:
            spark.conf.set(name, "false")
        unskew.repartition(spark.range(10), 3, "id", grouping=grouping)
        found[grouping] = [spark.conf.get(name) for name in CHECKSUMS]
    return found


def runs_before_an_action(spark):
    """Say whether a frame that cannot be computed fails before, and at, the action."""
    broken = spark.range(3).withColumn("key", F.raise_error(F.lit("computed")))
    try:
        spread = unskew.repartition(broken, 3, "key")
    except Exception as error:  # noqa: BLE001 - any failure is the answer
        return [str(error), None]
    try:
        spread.count()
    except Exception as error:  # noqa: BLE001
        return [None, str(error)]
    return [None, None]


def reported(spark):
    """Report on a frame with a hot key, ask for advice, and write it."""
    frame = spark.range(3_000).withColumn(
        "key", F.when(F.col("id") % 2 == 0, 0).otherwise(F.col("id"))
    )
    hottest = unskew.skew_report(frame, "key", workers=8, top=3).first()
    advice = unskew.advise(frame, "key", workers=8).collect()
    with tempfile.TemporaryDirectory() as folder:
        few = frame.withColumn("key", F.col("key") % 5)
        unskew.write_balanced(few, f"{folder}/out", "key", files=3)
        written = spark.read.parquet(f"{folder}/out").count()
    counted = unskew.group_by(frame, "key").aggregate(DistinctCount("id")).where("key = 0").first()
    return {
        "hottest": [hottest["key"], hottest["count"], hottest["rows"]],
        "recommended": [row.grouping for row in advice if row.recommended],
        "advised": len(advice),
        "written": written,
        "summed": unskew.group_by(frame, "key")
        .agg(F.sum("id").alias("s"))
        .where("key = 0")
        .first()
        .s,
        "distinct": counted.distinct,
    }


def explained(spark):
    """Explain two aggregates of a frame that is cached, and look whether it stays so."""
    frame = spark.range(10).withColumn("key", F.col("id") % 7).repartition(2).cache()
    frame.count()
    told = unskew.group_by(frame, "key").explain(F.sum("id"), F.collect_list("id"))
    unskew.repartition(frame, 3, "key")
    return {"told": told.splitlines(), "cached": frame.storageLevel.useMemory}


def refusals(spark):
    frame = spark.range(5).selectExpr(
        "id", "map(id, id) as pairs", "'A' collate UTF8_LCASE as text", "id as _unskew_mine"
    )
    calls = {
        "missing name": (frame.drop("_unskew_mine"), 3, "ide"),
        "missing column": (frame.drop("_unskew_mine"), 3, F.col("ide") + 1),
        "map": (frame.drop("_unskew_mine"), 3, "pairs"),
        "collation": (frame.drop("_unskew_mine"), 3, "text"),
        "helper": (frame, 3, "id"),
        "no partitions": (frame.drop("_unskew_mine"), 0, "id"),
        "aggregate": (frame.drop("_unskew_mine"), 3, F.sum("id")),
        "generator": (frame.drop("_unskew_mine"), 3, F.explode(F.array("id"))),
        "columns": (frame.drop("_unskew_mine"), 3, "*"),
        "stream": (spark.readStream.format("rate").load(), 3, "value"),
    }
    messages = {}
    for name, arguments in calls.items():
        try:
            unskew.repartition(*arguments)
        except unskew.UnskewError as error:
            messages[name] = str(error)
    return messages


def main(address):
    spark = SparkSession.builder.remote(address).getOrCreate()
    sample = everything()
    nothing = sample.frame(spark).where(F.col(ROW) < 0)
    answer = {
        "frame": type(unskew.repartition(spark.range(3), 3, "id")).__module__,
        "differences": all_differences(spark),
        "differences of nothing": {
            name: differences(nothing, sample.keys, each, UNLIKE)
            for name, each in OPERATIONS.items()
        },
        "misplaced": misplaced(spark),
        "exchanges": exchanges(spark),
        "checksums": checksums(spark),
        "reported": reported(spark),
        "runs": runs_before_an_action(spark),
        "refusals": refusals(spark),
        "explained": explained(spark),
    }
    spark.stop()
    print(json.dumps(answer))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
