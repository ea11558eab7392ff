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
ASLEEP, AWAKE = 5.0, 1.0
"""How many times faster than both of Spark's ways: where rows wait, and where they compute."""
FLAT = 1.2
"""How much larger a Python worker may get where the hottest key has ten times the rows."""
SPARKS = ("Spark, as it comes", "Spark, 16 tasks")

_FASTER = ("x as it comes", "x 16 tasks")


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
        (
            "way", "50 us a row asleep, local[16], s", *_FASTER, "target",
            "CPU, local[2], s", *_FASTER, "target", "verdict",
        ),
    )  # fmt: skip
    kinds = [(results["sleep"]["rounds"], ASLEEP), (results["cpu"]["rounds"], AWAKE)]
    for name in kinds[0][0][0]:
        # What does not split keys is there to show what is gained by other things than balance.
        held_to = name not in (*SPARKS, "unskew key")
        cells, reached = [], True
        for rounds, target in kinds:
            gains = [1 / _median(rounds, name, base) for base in SPARKS]
            reached &= min(gains) >= target
            cells += [f"{_median(rounds, name):.1f}", *(f"{gain:.2f}" for gain in gains)]
            cells.append(f"{target:g}" if held_to else "-")
        table.add(name, *cells, met(reached) if held_to else "-")
    return table


def _memory(peaks: list[dict[str, int]]) -> Table:
    table = Table(
        "spark-memory",
        "One key alone: peak memory of a Python worker, MB",
        (
            "rows of the key",
            "unskew",
            "applyInPandas",
            "unskew, x of the first",
            "target",
            "verdict",
        ),
    )
    for peak in peaks:
        growth = peak["unskew"] / peaks[0]["unskew"]
        table.add(
            f"{peak['rows']:,}",
            *(f"{peak[who] / 1024:.0f}" for who in ("unskew", "Spark")),
            *(["-"] * 3 if peak is peaks[0] else [f"{growth:.2f}", f"{FLAT}", met(growth <= FLAT)]),
        )
    return table


def _aggs(taken: dict[str, list[dict[str, float]]]) -> Table:
    table = Table(
        "spark-agg",
        f"Spark's own aggregates over {SHUFFLED_ROWS // 2:,} rows, Zipf 1.4: as they are, after a "
        "balanced shuffle, and from counts of (key, value)",
        ("aggregate", "Spark, s", "balanced first, s", "x", "from counts, s", "x"),
    )
    for name, rounds in taken.items():
        cells = []
        for way in ("balanced first", "from counts"):
            tried = way in rounds[0]
            cells += [f"{_median(rounds, way):.1f}" if tried else "-"]
            cells += [f"{_median(rounds, way, 'Spark'):.2f}" if tried else "-"]
        table.add(f"`{name}`", f"{_median(rounds, 'Spark'):.1f}", *cells)
    return table


def _median(rounds: list[dict[str, float]], name: str, base: str | None = None) -> float:
    """Give the median time, or that of the ratio to another in the same round."""
    return statistics.median(each[name] / (each[base] if base else 1) for each in rounds)
