"""What a route costs: every scheme over 10^7 tuples, against `key` in the same run."""

from __future__ import annotations

import time
from typing import Any

import unskew
from benchmarks.streams import FULL, zipf
from benchmarks.tables import Table, met

WORKERS = (10, 100, 1000)
SKEW = 1.4
TIMES_KEY = {"pkg": 4.0, "d-choices": 15.0, "w-choices": 15.0, "round-robin": 15.0}
GROWTH = {"d-choices": 8.0}
USUAL_GROWTH = 2.0


def measure(*, quick: bool) -> dict[str, Any]:
    """Return nanoseconds a tuple by scheme and number of workers, the best of several rounds.

    A round runs every scheme once, so that a busy moment of the machine hits all of them alike.
    """
    tuples, rounds = (FULL // 10, 3) if quick else (FULL, 7)
    hashes = zipf(SKEW, tuples).hashes
    best: dict[str, dict[str, float]] = {name: {} for name in unskew.groupings()}
    for _ in range(rounds):
        for n in WORKERS:
            for name, figures in best.items():
                grouping = unskew.grouping(name, n)
                grouping.build().route(hashes[:1000])  # loads the kernel
                router = grouping.build()
                started = time.process_time()
                router.route(hashes)
                spent = (time.process_time() - started) / tuples * 1e9
                figures[str(n)] = min(spent, figures.get(str(n), spent))
    return {"tuples": tuples, "rounds": rounds, "nanoseconds": best}


def tables(results: dict[str, Any]) -> list[Table]:
    """Put figure and target side by side."""
    nanoseconds = results["nanoseconds"]
    key = nanoseconds["key"]
    table = Table(
        "speed",
        f"ns of CPU a tuple: {results['tuples']:,} of Zipf {SKEW}, best of {results['rounds']}",
        (
            "scheme", "n = 10", "n = 100", "n = 1000", "x key at 10", "x key at 100", "target",
            "x key at 1000", "n = 1000 / n = 10", "target", "verdict",
        ),
    )  # fmt: skip
    for name, spent in nanoseconds.items():
        times_key = {n: spent[n] / key[n] for n in spent}
        growth, growth_limit = spent["1000"] / spent["10"], GROWTH.get(name, USUAL_GROWTH)
        limit = TIMES_KEY.get(name)
        table.add(
            f"`{name}`",
            *(f"{spent[str(n)]:.1f}" for n in WORKERS),
            f"{times_key['10']:.1f}",
            f"{times_key['100']:.1f}",
            f"{limit:g}" if limit else "-",
            f"{times_key['1000']:.1f}",
            f"{growth:.2f}",
            f"{growth_limit:g}",
            met((not limit or times_key["100"] <= limit) and growth <= growth_limit),
        )
    return [table]
