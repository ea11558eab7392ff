"""Start-up of a local Spark session, and of its Python workers, in a new process each time."""

from __future__ import annotations

import statistics
import subprocess
import sys
from typing import Any

from benchmarks.tables import Table
from unskew.spark.archive import QUICK_FLAGS, archive_path
from unskew.spark.java import find_java

_SESSION = """
import sys, time
started = time.perf_counter()
import pyarrow as pa
from pyspark.sql import functions as F
from unskew.spark import local_session

flags = sys.argv[2:]
conf = {"spark.driver.extraJavaOptions": flags[0]} if flags else {}
spark = local_session(quick=sys.argv[1] == "quick", conf=conf)
session = time.perf_counter() - started

@F.arrow_udf("long")
def same(values: pa.Array) -> pa.Array:
    return values

spark.range(1000).select(same("id").alias("id")).groupBy("id").count().collect()
print(session, time.perf_counter() - started)
"""

_WORKERS = """
import sys, time
import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from unskew.spark import local_session

module, name, tasks = sys.argv[1], sys.argv[2], int(sys.argv[3])
spark = local_session(quick=True, cores=tasks, conf={"spark.python.daemon.module": module})
spark.range(1000).selectExpr("xxhash64(id) h").groupBy("h").count().collect()  # the JVM's share

@F.arrow_udf("int")
def route(hashes: pa.Array) -> pa.Array:
    import unskew

    return pa.array(unskew.grouping(name, 100).build().route(hashes.to_numpy()))

rows = spark.range(0, 100 * tasks, numPartitions=tasks).selectExpr("xxhash64(id) h")
for _ in range(2):
    started = time.perf_counter()
    rows.select(route("h").alias("worker")).groupBy("worker").count().collect()
    print(time.perf_counter() - started)
"""

SESSIONS = {
    "Spark's defaults": ["default"],
    "quick flags": ["quick", " ".join(QUICK_FLAGS)],
    "quick flags and class archive": ["quick"],
}
TASKS = 16
DAEMONS = {"Spark's own": "pyspark.daemon", "`unskew.spark.daemon`": "unskew.spark.daemon"}
SCHEMES = ("key", "pkg", "d-choices")


def measure(*, quick: bool) -> dict[str, Any]:
    """Return medians in seconds; the variants take turns, so that noise hits all alike."""
    repeats = 1 if quick else 3
    java = find_java()
    sessions: dict[str, list[list[float]]] = {name: [] for name in SESSIONS}
    workers: dict[str, list[list[float]]] = {}
    for _ in range(repeats):
        for label, arguments in SESSIONS.items():
            sessions[label].append(_run(_SESSION, *arguments))
        for scheme in SCHEMES:
            for label, module in DAEMONS.items():
                spent = _run(_WORKERS, module, scheme, str(TASKS))
                workers.setdefault(f"{scheme}/{label}", []).append(spent)
    return {
        "java": java.build,
        "archive": archive_path(java).exists(),
        "repeats": repeats,
        "sessions": {name: _medians(runs) for name, runs in sessions.items()},
        "workers": {name: _medians(runs) for name, runs in workers.items()},
    }


def _run(code: str, *arguments: str) -> list[float]:
    output = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    ).stdout
    return [float(figure) for figure in output.split()]


def _medians(runs: list[list[float]]) -> list[float]:
    return [statistics.median(column) for column in zip(*runs, strict=True)]


def tables(results: dict[str, Any]) -> list[Table]:
    """Show the session by its flags, then the first routing job by the daemon."""
    without = "" if results["archive"] else "; no archive could be built for this Java"
    sessions = Table(
        "sessions",
        f"Seconds, new process, Java {results['java']}, median of {results['repeats']}{without}",
        ("session", "session ready", "first result"),
    )
    for name, figures in results["sessions"].items():
        sessions.add(name, *(f"{figure:.1f}" for figure in figures))
    workers = Table(
        "python-workers",
        f"Seconds of a job that routes in {TASKS} Python workers; median of {results['repeats']}",
        ("grouping", "daemon", "first job", "second job"),
    )
    for name, figures in results["workers"].items():
        scheme, daemon = name.split("/")
        workers.add(f"`{scheme}`", daemon, *(f"{figure:.1f}" for figure in figures))
    return [sessions, workers]
