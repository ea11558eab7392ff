"""Spark jobs, with and without unskew: ``make bench-spark``, on 2 cores, ratios in one run."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.tables import Table, met

SHUFFLED_ROWS = 4_000_000
WORKED_ROWS = 400_000
WORKERS = 16
SLEEP = 50e-6
HOT_ROWS = (1_000_000, 10_000_000)


def measure(*, quick: bool) -> dict[str, Any]:
    """Run each job in a session of its own."""
    rounds, part = (1, 10) if quick else (5, 1)
    few = min(3, rounds)
    return {
        "shuffle": _run("shuffle", cores=2, rows=SHUFFLED_ROWS // part, rounds=rounds),
        "sleep": _run("sleep", cores=WORKERS, rows=WORKED_ROWS // part, rounds=few, cost=SLEEP),
        "cpu": _run("cpu", cores=2, rows=WORKED_ROWS // part, rounds=few),
        "memory": [_run("memory", cores=2, rows=rows // part) for rows in HOT_ROWS],
        "agg": _run("agg", cores=2, rows=SHUFFLED_ROWS // part // 2, rounds=few),
    }


def _run(job: str, **arguments: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        if job != "memory":
            arguments["folder"] = str(Path(folder, "data"))
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.spark_jobs", job, json.dumps(arguments)],
            capture_output=True,
            text=True,
            check=False,
            # Workers import what the job is made of.
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        )
    if process.returncode:
        raise RuntimeError(f"{job} failed:\n{process.stderr[-3000:]}")
    return json.loads(process.stdout.splitlines()[-1])


def tables(results: dict[str, Any]) -> list[Table]:
    """Put Spark and unskew side by side."""
    return [
        _shuffles(results["shuffle"]),
        _works(results),
        _memory(results["memory"]),
        _aggs(results["agg"]),
    ]


def _shuffles(rounds: list[dict[str, float]]) -> Table:
    table = Table(
        "spark-shuffle",
        f"Shuffle of {SHUFFLED_ROWS:,} rows with 100 bytes each, Zipf 1.0, {WORKERS} partitions; "
        f"medians of {len(rounds)} rounds",
        (
            "shuffle", "s", "x repartition(n)", "target", "x repartition(n, key)", "target",
            "verdict",
        ),
    )  # fmt: skip
    for name in rounds[0]:
        by_round, by_key = (
            _median(rounds, name, base) for base in ("repartition(n)", "repartition(n, key)")
        )
        ours = name.startswith("unskew")
        table.add(
            f"`{name}`",
            f"{_median(rounds, name):.2f}",
            f"{by_round:.2f}",
            "1.1" if ours else "-",
            f"{by_key:.2f}",
            "1.7" if ours else "-",
            met(by_round <= 1.1 and by_key <= 1.7) if ours else "-",
        )
    return table


def _works(results: dict[str, Any]) -> Table:
    table = Table(
        "spark-work",
        f"A function over the rows of each key: {WORKED_ROWS:,} rows, Zipf 1.4, {WORKERS} workers; "
        f"medians of {len(results['sleep']['rounds'])} rounds",
        ("way", "50 us a row asleep, local[16], s", "x faster", "CPU, local[2], s", "x faster"),
    )
    kinds = [results["sleep"]["rounds"], results["cpu"]["rounds"]]
    for name in kinds[0][0]:
        cells = []
        for rounds in kinds:
            cells += [
                f"{_median(rounds, name):.1f}",
                f"{1 / _median(rounds, name, 'Spark, 16 tasks'):.2f}",
            ]
        table.add(name, *cells)
    return table


def _memory(peaks: list[dict[str, int]]) -> Table:
    table = Table(
        "spark-memory",
        "One key alone: peak memory of a Python worker, MB",
        ("rows of the key", "unskew", "applyInPandas"),
    )
    for peak in peaks:
        table.add(f"{peak['rows']:,}", *(f"{peak[who] / 1024:.0f}" for who in ("unskew", "Spark")))
    return table


def _aggs(taken: dict[str, list[dict[str, float]]]) -> Table:
    table = Table(
        "spark-agg",
        f"Spark's own aggregates over {SHUFFLED_ROWS // 2:,} rows, Zipf 1.4, with and without a "
        "balanced shuffle in front",
        ("aggregate", "Spark, s", "balanced first, s", "x"),
    )
    for name, rounds in taken.items():
        table.add(
            f"`{name}`",
            *(f"{_median(rounds, who):.1f}" for who in ("Spark", "balanced first")),
            f"{_median(rounds, 'balanced first', 'Spark'):.2f}",
        )
    return table


def _median(rounds: list[dict[str, float]], name: str, base: str | None = None) -> float:
    """Give the median time, or that of the ratio to another in the same round."""
    return statistics.median(each[name] / (each[base] if base else 1) for each in rounds)
