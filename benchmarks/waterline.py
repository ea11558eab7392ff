"""Waterline against every other grouping: imbalance, replicas and time on all kinds of streams.

Five sources are fed round robin. *Imbalance* is the load of the busiest worker over the average,
less 1: over the whole run, and the worst of all blocks of a source. *Replication* is replicas a
key. *Time* is that of a queue for each worker, tuples coming evenly and as fast as all workers
together can work, over the time of an ideal grouping: see `benchmarks.fish`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import unskew
from benchmarks.streams import FULL
from benchmarks.tables import Table, met
from unskew._kernel import kernel
from unskew.cli.plots import save_tradeoff
from unskew.grouping import CATALOG, Trait
from unskew.hashing.mix import mix
from unskew.typing import KeyHashes, Loads, Workers

PAGE = "waterline.md"
PICTURE = Path(__file__).parents[1] / "docs" / "waterline.svg"
SOURCES = 5
WINDOW = 1 << 16
SERVICE = 0.001
Ranks = npt.NDArray[np.int64]


class Case(NamedTuple):
    """A stream, the workers, and what waterline must reach there."""

    kind: str
    skew: float
    keys: int
    workers: int
    imbalance: float
    replication: float | None
    """None: below that of all others that split keys."""
    ratio: int = 1
    """How many times as fast every second worker is."""

    @property
    def stream(self) -> str:
        """Name the stream."""
        speeds = f", capacities 1:{self.ratio}" if self.ratio > 1 else ""
        return f"{self.kind} {self.skew:g}, {self.keys:,} keys{speeds}"


def cases(*, quick: bool) -> Iterator[Case]:
    """Yield the cells of the table."""
    counts = (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000)
    for keys in counts:
        few = keys == 10_000
        for z, n in itertools.product((0.2, 0.6, 0.8), (10, 100)):
            yield Case("Zipf", z, keys, n, 0.02, 1.25 if few else 1.15)
        for z, n in itertools.product((1.0, 1.4, 2.0), (10, 100)):
            yield Case("Zipf", z, keys, n, 0.01, 1.04)
        for z in (1.0, 1.4, 2.0):
            yield Case("Zipf", z, keys, 1000, 0.02, 1.35 if few else 1.25)
    for z, n in itertools.product((1.0, 1.4, 2.0), (16, 128)):
        yield Case("evolving Zipf", z, 100_000, n, 0.01, None)
    yield Case("drift, Zipf", 1.0, 3_000, 100, 0.01, None)
    for ratio, z, n in itertools.product((2, 5, 10), (0.8, 1.4), (10, 100)):
        limit = 1.25 if z < 1 else 1.04
        yield Case("Zipf", z, 10_000, n, 0.02 if z < 1 else 0.01, limit, ratio)


@functools.lru_cache(maxsize=1)
def zipf(z: float, keys: int, tuples: int) -> Ranks:
    """Return ranks, from 0."""
    shares = 1 / np.arange(1, keys + 1) ** z
    cumulated = np.cumsum(shares / shares.sum())
    generator = np.random.Generator(np.random.PCG64(20240501 + round(10 * z)))
    return np.minimum(np.searchsorted(cumulated, generator.random(tuples)), keys - 1)


def ranks_of(case: Case, tuples: int) -> Ranks:
    """Return the keys of a case's stream."""
    ranks = zipf(case.skew, case.keys, tuples)
    if case.kind == "evolving Zipf":  # FISH sec. 6.1: reversed for the last fifth of each half
        ranks = ranks.copy()
        for half in np.array_split(ranks, 2):
            late = half[len(half) * 4 // 5 :]
            np.subtract(case.keys - 1, late, out=late)
    elif case.kind == "drift, Zipf":  # every hundredth, a hundred other keys are the hottest
        ranks = ranks.copy()
        for turn, part in enumerate(np.array_split(ranks, 100)):
            names = np.arange(case.keys)
            block = 100 * (1 + turn % (case.keys // 100 - 1))
            names[:100], names[block : block + 100] = names[block : block + 100], np.arange(100)
            part[:] = names[part]
    return ranks


def grouping_of(name: str, case: Case) -> unskew.Grouping:
    """Return a grouping; it knows the capacities if its scheme takes them."""
    parameters = {}
    if case.ratio > 1 and Trait.ELASTIC in CATALOG[name].spec.traits:
        parameters["capacities"] = speeds_of(case).tolist()
    return unskew.grouping(name, case.workers, **parameters)


def speeds_of(case: Case) -> Loads:
    """Return the capacities of the workers."""
    return np.where(np.arange(case.workers) % 2, 1.0, float(case.ratio))


def run(name: str, case: Case, ranks: Ranks, hashes: KeyHashes) -> dict[str, float]:
    """Route a stream, and measure what came of it."""
    grouping = grouping_of(name, case)
    shares = speeds_of(case) / speeds_of(case).sum()
    workers = np.empty(len(ranks), np.int32)
    worst = 0.0
    for source in range(SOURCES):
        mine = grouping.build(source=source).route(hashes[source::SOURCES].copy())
        workers[source::SOURCES] = mine
        for at in range(0, len(mine) - WINDOW + 1, WINDOW):
            worst = max(worst, above(mine[at : at + WINDOW], shares))
    return {
        "imbalance": above(workers, shares),
        "worst": worst,
        "replication": replication(ranks, workers, case),
        "time": time_over_ideal(workers, shares),
    }


def dropped(case: Case, tuples: int) -> dict[str, Any]:
    """Measure replication where each block comes from a source that remembers nothing."""
    ranks = ranks_of(case, tuples)
    hashes = key_hashes(ranks)
    grouping = grouping_of("waterline", case)
    kept, lost = np.empty(tuples, np.int32), np.empty(tuples, np.int32)
    tasks = itertools.count()
    for source in range(SOURCES):
        mine = hashes[source::SOURCES].copy()
        kept[source::SOURCES] = grouping.build(source=source).route(mine)
        blocks = np.split(mine, range(grouping.block, len(mine), grouping.block))
        fresh = [grouping.build(source=next(tasks)).route(block) for block in blocks]
        lost[source::SOURCES] = np.concatenate(fresh)
    return case._asdict() | {
        "stream": case.stream,
        "kept": replication(ranks, kept, case),
        "dropped": replication(ranks, lost, case),
    }


def key_hashes(ranks: Ranks) -> KeyHashes:
    """Return a hash for each key."""
    return mix(ranks.astype(np.uint64) + np.uint64(1))


def above(workers: Workers, shares: Loads) -> float:
    """Return how far the busiest worker is above its share."""
    counts = np.bincount(workers, minlength=len(shares))
    return float((counts / (len(workers) * shares)).max() - 1)


def replication(ranks: Ranks, workers: Workers, case: Case) -> float:
    """Return replicas a key."""
    pairs = ranks * case.workers + workers
    if case.keys * case.workers <= 2 * 10**8:
        seen = np.zeros(case.keys * case.workers, np.bool_)
        seen[pairs] = True
        replicas = np.count_nonzero(seen)
    else:
        pairs.sort()
        replicas = np.count_nonzero(np.diff(pairs)) + 1
    return float(replicas / np.count_nonzero(np.bincount(ranks)))


@kernel
def _finish(workers: Workers, between: float, service: Loads, free: Loads) -> None:
    for i in range(workers.shape[0]):
        worker = workers[i]
        free[worker] = max(free[worker], i * between) + service[worker]


def time_over_ideal(workers: Workers, shares: Loads) -> float:
    """Return when the last worker is done, over when all tuples have come."""
    free = np.zeros(len(shares))
    _finish(workers, SERVICE, SERVICE / shares, free)
    return float(free.max() / (SERVICE * len(workers)))


def measure(*, quick: bool) -> dict[str, Any]:
    """Run every grouping over every stream."""
    tuples = FULL // 10 if quick else FULL
    results = []
    for case in cases(quick=quick):
        ranks = ranks_of(case, tuples)
        hashes = key_hashes(ranks)
        schemes = {name: run(name, case, ranks, hashes) for name in unskew.groupings()}
        results.append(case._asdict() | {"stream": case.stream, "schemes": schemes})
    tasks = [dropped(case, tuples) for case in cases(quick=True) if is_shown_dropped(case)]
    return {"tuples": tuples, "cases": results, "dropped": tasks}


def is_shown_dropped(case: Case) -> bool:
    """Tell the cases of the table of routers that remember from those that do not."""
    chosen = {(0.2, 100), (1.4, 100), (2.0, 1000)}
    return case.kind == "Zipf" and case.ratio == 1 and (case.skew, case.workers) in chosen


def tables(results: dict[str, Any]) -> list[Table]:
    """Put waterline beside its targets, and all groupings side by side."""
    tuples = f"{results['tuples']:,} tuples from {SOURCES} sources"
    targets = Table(
        "waterline-targets",
        f"Waterline: {tuples}",
        (
            "stream", "n", "worst block, imbalance", "target", "replication", "target",
            "time / shuffle", "verdict",
        ),
    )  # fmt: skip
    names = list(dict.fromkeys(name for case in results["cases"] for name in case["schemes"]))
    all_ = Table(
        "waterline-all",
        f"Imbalance over the whole run · replication, {tuples}",
        ("stream", "n", *(f"`{name}`" for name in names)),
    )
    for case in results["cases"]:
        schemes = case["schemes"]
        mine = schemes["waterline"]
        limit = case["replication"]
        rivals = min(
            (schemes[name]["replication"] for name in REPLICATING if name in schemes), default=0.0
        )
        time = mine["time"] / (1.0 if case["ratio"] > 1 else schemes["shuffle"]["time"])
        reached = (
            round(mine["worst"], 4) <= case["imbalance"]
            and (mine["replication"] < rivals if limit is None else mine["replication"] <= limit)
            and time <= 1.02
        )
        targets.add(
            case["stream"], case["workers"], f"{mine['worst']:.4f}", f"{case['imbalance']:g}",
            f"{mine['replication']:.3f}",
            f"below {rivals:.3f}" if limit is None else f"{limit:g}", f"{time:.3f}", met(reached),
        )  # fmt: skip
        shown = [schemes.get(name) for name in names]
        all_.add(
            case["stream"],
            case["workers"],
            *(
                f"{each['imbalance']:.2g} · {each['replication']:.2f}" if each else "-"
                for each in shown
            ),
        )
    memory = Table(
        "waterline-dropped",
        f"Replication: {tuples}",
        ("stream", "n", "state kept", "state dropped after every block"),
    )
    for case in results["dropped"]:
        figures = (f"{case['kept']:.3f}", f"{case['dropped']:.3f}")
        memory.add(case["stream"], case["workers"], *figures)
    return [targets, memory, all_]


REPLICATING = ("fish", "pkg", "d-choices", "w-choices")


def picture(results: dict[str, Any]) -> None:
    """Draw imbalance against replication: every grouping a point, three skews."""
    panels = {}
    for case in results["cases"]:
        shown = case["kind"] == "Zipf" and case["ratio"] == 1 and case["skew"] in (0.8, 1.4, 2.0)
        if shown and case["keys"] == 10_000 and case["workers"] == 100:
            panels[f"Zipf {case['skew']:g}"] = {
                name: (each["replication"], each["imbalance"])
                for name, each in case["schemes"].items()
            }
    save_tradeoff(PICTURE, panels)
