"""Gedik's partitioning functions: how long one takes to make, what a look-up costs, what it gains.

The twins are those of the tests: plain Python, the algorithms as printed. Both get the same keys,
in one run: 200 tracked keys, and the 50th worker comes to 49, as in the paper's experiments, where
workers are added one at a time (sec. 5.1). The workload is the paper's default (table 1): Zipf 1
over 10^6 keys, alpha 1.2, linear state, constant computation, sigma 0.1, the utility APM.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import unskew
from benchmarks.streams import FULL, zipf
from benchmarks.tables import Table, met
from tests.naive import gedik as naive
from tests.partition.problems import Case, default_workload, mapping, problem_of
from unskew.grouping.explicit import Explicit
from unskew.partition import (
    CONSTRUCTIONS,
    Frequencies,
    Planner,
    Resources,
    consistent_function,
    quality,
)

TRACKED, WORKERS_TO_MAKE = 200, 50
READJ_MOVES = 3
WORKERS = (10, 100, 1000)
SKEW = 1.4
DEFAULT_WORKERS = 10
TIMES_TWIN, TIMES_KEY, GROWTH = 10.0, 5.0, 2.0
ALONE = "ring alone"
LOOKED_UP = ("key", "consistent", "explicit, look-up", "explicit, with counting")


def measure(*, quick: bool) -> dict[str, Any]:
    """Return what all three tables need."""
    return {
        "construction": {name: _made(name) for name in CONSTRUCTIONS},
        **_looked_up(FULL // 10 if quick else FULL, 2 if quick else 5),
        "workload": _default_workload(seeds=1 if quick else 5),
    }


def _made(construction: str) -> dict[str, float]:
    """Return the seconds that a plan takes, and its twin, for the same function."""
    # With a lower sigma more keys would be tracked than are allowed.
    planner = Planner(Resources(sigma=0.05), construction, max_tracked=TRACKED)
    workload = default_workload()
    # Shares whose sums are exact, so that rounding does not decide between equal choices.
    shares = np.floor(workload.shares[: 2 * TRACKED] * 2**30) / 2**30
    frequencies = Frequencies(workload.keys[: 2 * TRACKED], shares)
    before = consistent_function(WORKERS_TO_MAKE - 1)
    before = planner.plan(before, frequencies).function  # loads the kernels as well
    case = Case(planner, before, frequencies, WORKERS_TO_MAKE, None)
    seconds, plan = _best(case.plan, rounds=3)
    problem = problem_of(case, plan)
    if construction == "readj":
        # The whole takes minutes; its first moves alone bound the time from below.
        twin_seconds, _ = _best(lambda: naive.readj(problem, READJ_MOVES), rounds=1)
        return {"seconds": seconds, "twin": twin_seconds}
    twin_seconds, twin = _best(lambda: naive.CONSTRUCTIONS[construction](problem), rounds=1)
    if twin != mapping(plan.function):
        raise RuntimeError(f"{construction}: the twin makes another function")
    return {"seconds": seconds, "twin": twin_seconds}


def _looked_up(tuples: int, rounds: int) -> dict[str, Any]:
    """Return nanoseconds a tuple; a round runs everything once, so that noise hits all alike."""
    hashes = zipf(SKEW, tuples).hashes
    best: dict[str, dict[str, float]] = {name: {} for name in LOOKED_UP}
    tracked = {}
    for n in WORKERS:
        counting = Explicit(n).build()
        counting.route(hashes[: FULL // 10])
        counting = counting.activate(counting.plan())
        tracked[str(n)] = len(counting.function)
        ring = consistent_function(n).ring
        calls = (
            unskew.grouping("key", n).build().route,
            ring.lookup,
            counting.function.lookup,
            counting.route,
        )
        for _ in range(rounds):
            for name, call in zip(LOOKED_UP, calls, strict=True):
                seconds, _ = _best(lambda call=call: call(hashes), rounds=1)
                spent = seconds / tuples * 1e9
                best[name][str(n)] = min(spent, best[name].get(str(n), spent))
    return {"tuples": tuples, "rounds": rounds, "nanoseconds": best, "tracked": tracked}


def _default_workload(seeds: int) -> dict[str, list[dict[str, float]]]:
    """Return the measures of sec. 3.4 for the last of nine steps from one worker to ten."""
    frequencies, resources = default_workload(), Resources()
    found: dict[str, list[dict[str, float]]] = {name: [] for name in (ALONE, *CONSTRUCTIONS)}
    for seed in range(seeds):
        for name, figures in found.items():
            function = consistent_function(1, seed=seed)
            for n in range(2, DEFAULT_WORKERS + 1):
                before = function
                if name == ALONE:
                    function = consistent_function(n, seed=seed)
                else:
                    function = Planner(construction=name).plan(before, frequencies, n).function
            measured = quality(before, function, frequencies, resources)
            figures.append(
                {
                    "imbalance": measured.imbalance,
                    "migration": measured.migration,
                    "objective": measured.objective,
                    "tracked": len(function),
                }
            )
    return found


def _best(call: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Return the least CPU time of several calls, and what the last returned."""
    spent = []
    for _ in range(rounds):
        started = time.process_time()
        result = call()
        spent.append(time.process_time() - started)
    return min(spent), result


def tables(results: dict[str, Any]) -> list[Table]:
    """Put figure and target side by side."""
    return [
        _construction_table(results["construction"]),
        _lookup_table(results),
        _workload_table(results["workload"]),
    ]


def _construction_table(made: dict[str, dict[str, float]]) -> Table:
    table = Table(
        "gedik-construction",
        f"Seconds of CPU to make a function, {TRACKED} tracked keys, {WORKERS_TO_MAKE} workers",
        ("construction", "unskew", "twin in Python", "times as fast", "target", "verdict"),
    )
    for name, figures in made.items():
        faster = figures["twin"] / figures["seconds"]
        part = name == "readj"
        table.add(
            f"`{name}`",
            f"{figures['seconds']:.4f}",
            f"{figures['twin']:.2f}{f' for the first {READJ_MOVES} moves' if part else ''}",
            f"{'> ' if part else ''}{faster:.0f}",
            f"{TIMES_TWIN:g}",
            met(faster >= TIMES_TWIN),
        )
    return table


def _lookup_table(results: dict[str, Any]) -> Table:
    nanoseconds = results["nanoseconds"]
    key = nanoseconds["key"]
    table = Table(
        "gedik-lookup",
        f"ns of CPU a tuple: {results['tuples']:,} of Zipf {SKEW}, best of {results['rounds']}; "
        f"tracked keys: {', '.join(f'{each:,}' for each in results['tracked'].values())}",
        (
            "look-up", "n = 10", "n = 100", "n = 1000", "x key at 100", "target",
            "n = 1000 / n = 10", "target", "verdict",
        ),
    )  # fmt: skip
    for name, spent in nanoseconds.items():
        times_key, growth = spent["100"] / key["100"], spent["1000"] / spent["10"]
        limit = TIMES_KEY if name in ("consistent", "explicit, look-up") else None
        table.add(
            name,
            *(f"{spent[str(n)]:.1f}" for n in WORKERS),
            f"{times_key:.1f}",
            f"{limit:g}" if limit else "-",
            f"{growth:.2f}",
            f"{GROWTH:g}",
            met((not limit or times_key <= limit) and growth <= GROWTH),
        )
    return table


def _workload_table(workload: dict[str, list[dict[str, float]]]) -> Table:
    alone = [each["objective"] for each in workload[ALONE]]
    table = Table(
        "gedik-workload",
        f"The paper's default workload, the step to {DEFAULT_WORKERS} workers; "
        f"averages of {len(alone)} seeds",
        (
            "function", "tracked keys", "imbalance b", "migration m", "objective b (1 + m)",
            "below the ring alone",
        ),
    )  # fmt: skip
    for name, figures in workload.items():
        below = sum(each["objective"] <= b for each, b in zip(figures, alone, strict=True))
        table.add(
            name if name == ALONE else f"`{name}`",
            *(f"{np.mean([each['tracked'] for each in figures]):.0f}",),
            *(
                f"{np.mean([each[measure] for each in figures]):.2f}"
                for measure in ("imbalance", "migration", "objective")
            ),
            "-" if name == ALONE else f"{below} of {len(alone)}",
        )
    return table
