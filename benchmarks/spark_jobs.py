"""Jobs that `benchmarks.on_spark` runs, each in a process and a session of its own.

``python -m benchmarks.spark_jobs NAME JSON`` prints the answer on its last line.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew.spark import local_session
from unskew.spark.route import DEFAULT_GROUPING

KEYS = 10_000
PARTITIONS = 16
GROUPINGS = tuple(dict.fromkeys(("key", "w-choices", DEFAULT_GROUPING)))
WORKED = "key string, rows long, sum long"


def shuffle(spark: SparkSession, rows: int, rounds: int, folder: str) -> Any:
    """Shuffle wide rows: Spark's two ways, and ours with some groupings."""
    payload = F.lpad(F.col("id").cast("string"), 100, "x").alias("payload")
    frame = _stored(_zipf(spark, 1.0, rows).select("*", payload), folder)
    ways: dict[str, Callable[[], DataFrame]] = {
        "repartition(n)": lambda: frame.repartition(PARTITIONS),
        "repartition(n, key)": lambda: frame.repartition(PARTITIONS, "key"),
    }
    for name in GROUPINGS:
        ways[f"unskew {name}"] = lambda name=name: unskew.repartition(  # type: ignore[misc]
            frame, PARTITIONS, "key", grouping=name
        )
    return _in_turn(ways, rounds)


def sleep(spark: SparkSession, rows: int, rounds: int, folder: str, cost: float) -> Any:
    """Wait for every row, as for a service."""

    def wait(keys: pd.Series[str]) -> None:
        for _ in keys:
            time.sleep(cost)

    return _work(spark, rows, rounds, folder, wait)


def cpu(spark: SparkSession, rows: int, rounds: int, folder: str) -> Any:
    """Compute for every row, in plain Python."""

    def compute(keys: pd.Series[str]) -> None:
        for key in keys:
            for _ in range(40):
                hash(key + "x")

    return _work(spark, rows, rounds, folder, compute)


def _work(
    spark: SparkSession, rows: int, rounds: int, folder: str, busy: Callable[[Any], None]
) -> Any:
    frame = _stored(_zipf(spark, 1.4, rows), folder)

    def work(rows: pd.DataFrame) -> pd.DataFrame:
        busy(rows["key"])
        return pd.DataFrame(
            {"key": rows["key"].iloc[:1], "rows": [len(rows)], "sum": [rows["id"].sum()]}
        )

    def merge(partials: pd.DataFrame) -> pd.DataFrame:
        sums = {name: [partials[name].sum()] for name in ("rows", "sum")}
        return pd.DataFrame({"key": partials["key"].iloc[:1], **sums})

    def ours(rows: DataFrame, grouping: str) -> DataFrame:
        grouped = unskew.group_by(rows, "key", workers=PARTITIONS, grouping=grouping)
        return grouped.apply_in_pandas(work, WORKED, merge=merge)

    def plain(rows: DataFrame) -> DataFrame:
        return rows.groupBy("key").applyInPandas(work, WORKED)

    def as_it_comes(rows: DataFrame) -> DataFrame:
        # Adaptive execution reads so few bytes in one task, whatever the work on them.
        spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "true")
        return plain(rows)

    def on_all_workers(rows: DataFrame) -> DataFrame:
        spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
        return plain(rows)

    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    ways: dict[str, Callable[[DataFrame], DataFrame]] = {
        "Spark, as it comes": as_it_comes,
        "Spark, 16 tasks": on_all_workers,
    }
    for name in GROUPINGS:
        ways[f"unskew {name}"] = lambda rows, name=name: ours(rows, name)  # type: ignore[misc]
    few = frame.limit(1_000)
    taken: list[dict[str, float]] = []
    results = {}
    for way in ways.values():
        way(few).toArrow()
    for _ in range(rounds):
        taken.append({})
        for name, way in ways.items():
            started = time.perf_counter()
            table = way(frame).toArrow()
            taken[-1][name] = time.perf_counter() - started
            results[name] = sorted(zip(*table.to_pydict().values(), strict=True))
    sparks = results["Spark, 16 tasks"]
    if unequal := [name for name, result in results.items() if result != sparks]:
        raise RuntimeError(f"another result than Spark's own: {', '.join(unequal)}")
    return {"rounds": taken}


def memory(spark: SparkSession, rows: int) -> Any:
    """Give one key so many rows; say how large a Python worker ever was, ours and then Spark's."""
    frame = spark.range(0, rows, numPartitions=4).select(F.lit("hot").alias("key"), "id")

    def peak(rows: pd.DataFrame) -> pd.DataFrame:
        status = Path("/proc/self/status").read_text()
        size = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return pd.DataFrame({"rows": [len(rows)], "kb": [int(size.split()[1])]})

    def merge(partials: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"rows": [partials["rows"].sum()], "kb": [partials["kb"].max()]})

    grouped = unskew.group_by(frame, "key", workers=4)
    schema = "rows long, kb long"
    # In this order, since Spark goes on with the same workers, as large as they ever were.
    (ours,) = grouped.apply_in_pandas(peak, schema, merge=merge).collect()
    (sparks,) = frame.groupBy("key").applyInPandas(peak, schema).collect()
    if not ours["rows"] == sparks["rows"] == rows:
        raise RuntimeError(f"{ours['rows']} and {sparks['rows']} of {rows} rows")
    return {"rows": rows, "unskew": ours["kb"], "Spark": sparks["kb"]}


def agg(spark: SparkSession, rows: int, rounds: int, folder: str) -> Any:
    """Compute Spark's own aggregates: as they are, after a balanced shuffle, and from counts.

    Where a value counts as often as it occurs, the counts of (key, value) say all, and no such pair
    is as hot as its key.
    """
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    frame = _stored(_zipf(spark, 1.4, rows).withColumn("v", F.rand(1)), folder)
    frame = frame.withColumn("whole", F.floor(F.col("v") * F.col("v") * 100))

    @F.pandas_udf("double")  # type: ignore[call-overload, untyped-decorator]
    def median(v: pd.Series) -> float:
        return float(v.median())

    functions = {
        "sum": F.sum("v"),
        "percentile": F.percentile("v", F.lit(0.5)),
        "percentile, 100 values": F.percentile("whole", F.lit(0.5)),
        "mode": F.mode("v", deterministic=True),
        "mode, 100 values": F.mode("whole", deterministic=True),
        "collect_list": F.size(F.collect_list("v")),
        "pandas UDAF": median("v"),
    }
    from_counts = {
        "percentile": ("v", F.percentile("v", F.lit(0.5), F.col("n"))),
        "percentile, 100 values": ("whole", F.percentile("whole", F.lit(0.5), F.col("n"))),
        "mode": ("v", _most_frequent("v")),
        "mode, 100 values": ("whole", _most_frequent("whole")),
    }
    found = {}
    for name, function in functions.items():
        ways = {
            "Spark": frame.groupBy("key").agg(function.alias("found")),
            "balanced first": unskew.repartition(frame, PARTITIONS, "key")
            .groupBy("key")
            .agg(function.alias("found")),
        }
        if name in from_counts:
            value, of_counts = from_counts[name]
            counted = frame.groupBy("key", value).agg(F.count("*").alias("n"))
            ways["from counts"] = counted.groupBy("key").agg(of_counts.alias("found"))
            _require_equal(ways["Spark"], ways["from counts"], name)
        runs = {way: lambda made=made: made for way, made in ways.items()}  # type: ignore[misc]
        found[name] = _in_turn(runs, rounds)
    return found


def _most_frequent(value: str) -> Column:
    """Give the value with the largest count; of several the least, as the deterministic mode."""
    return F.min_by(value, F.struct(-F.col("n"), F.col(value)))


def _require_equal(one: DataFrame, other: DataFrame, name: str) -> None:
    first, second = (dict(each.select("key", "found").collect()) for each in (one, other))
    if first != second:
        raise RuntimeError(f"{name} from counts is not Spark's own")


def _zipf(spark: SparkSession, skew: float, rows: int) -> DataFrame:
    shares = np.arange(1, KEYS + 1) ** -skew
    cumulated = np.cumsum(shares / shares.sum())

    def rank(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for drawn in batches:
            yield pa.array(np.searchsorted(cumulated, drawn.to_numpy()))

    ranked = F.arrow_udf(rank, "long")(F.rand(20240501))
    key = F.concat(F.lit("key-"), ranked.cast("string")).alias("key")
    return spark.range(0, rows, numPartitions=8).select(key, "id")


def _stored(frame: DataFrame, folder: str) -> DataFrame:
    frame.write.parquet(folder)
    return frame.sparkSession.read.parquet(folder)


def _in_turn(ways: dict[str, Callable[[], DataFrame]], rounds: int) -> list[dict[str, float]]:
    """Run each way to its end, in turn; once before the clock runs, so that the JVM compiles."""
    for way in ways.values():
        _seconds(way())
    return [{name: _seconds(way()) for name, way in ways.items()} for _ in range(rounds)]


def _seconds(frame: DataFrame) -> float:
    started = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


JOBS = {job.__name__: job for job in (shuffle, sleep, cpu, memory, agg)}


def main() -> None:
    """Run the job that is asked for."""
    name, arguments = sys.argv[1], json.loads(sys.argv[2])
    conf = {"spark.driver.memory": "3g", "spark.log.level": "ERROR"}
    spark = local_session(cores=arguments.pop("cores"), conf=conf)
    print(json.dumps(JOBS[name](spark, **arguments)))
    spark.stop()


if __name__ == "__main__":
    main()
