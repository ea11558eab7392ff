"""``unskew compare``: every grouping on one skewed stream, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from unskew.grouping.base import Grouping
from unskew.grouping.catalog import grouping, groupings
from unskew.hashing.keys import hash_keys
from unskew.metrics import imbalance, peak, replication, worker_loads
from unskew.typing import KeyHashes, Loads

LEVELS = " ▁▂▃▄▅▆▇█"
_BARS = 18


@dataclass(frozen=True, slots=True)
class _Run:
    grouping: Grouping
    loads: Loads
    replication: float
    nanoseconds: float


def compare(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="GROUPING", help="Groupings to compare.", show_default="all"),
    ] = None,
    workers: Annotated[int, typer.Option(help="Workers that the tuples go to.")] = 20,
    skew: Annotated[float, typer.Option(min=0.0, help="Exponent of the Zipf distribution.")] = 1.4,
    keys: Annotated[int, typer.Option(min=1, help="Distinct keys.")] = 10_000,
    tuples: Annotated[int, typer.Option(min=1, help="Length of the stream.")] = 2_000_000,
    sources: Annotated[int, typer.Option(min=1, help="Routers that share the stream.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the stream and of the hashes.")] = 0,
) -> None:
    """Route a skewed stream with each grouping, and show who gets how much.

    The tuples are dealt to several sources, which know nothing of each other, as map tasks do.

    Example: unskew compare key pkg w-choices --skew 1.2
    """
    compared = [grouping(name, workers, seed=seed) for name in names or groupings()]
    console = Console()
    console.print(
        f"{tuples:,} tuples of {keys:,} keys, Zipf {skew:g}, from {sources} sources "
        f"to {workers} workers."
    )
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("making the stream", total=1 + len(compared) * sources)
        parts = _deal(_zipf(skew, keys, tuples, seed), sources)
        progress.advance(task)
        runs = []
        for each in compared:
            progress.update(task, description=f"routing: {each.spec.name}")
            runs.append(_run(each, parts, lambda: progress.advance(task)))
    console.print(_table(runs))
    console.print()
    console.print(_verdict(runs), soft_wrap=True, markup=False)


def _zipf(skew: float, keys: int, tuples: int, seed: int) -> KeyHashes:
    shares = np.arange(1, keys + 1) ** -skew
    ranks = np.searchsorted(
        np.cumsum(shares / shares.sum()), np.random.default_rng(seed).random(tuples)
    )
    # The last of the sums may fall short of 1 by rounding.
    return hash_keys(np.arange(keys))[np.minimum(ranks, keys - 1)]


def _deal(hashes: KeyHashes, sources: int) -> list[KeyHashes]:
    parts = (np.ascontiguousarray(hashes[source::sources]) for source in range(sources))
    return [part for part in parts if len(part)]


def _run(each: Grouping, parts: list[KeyHashes], done: Callable[[], None]) -> _Run:
    each.build().route(parts[0][:1])  # loads the kernel, which is not what a tuple costs
    routes, spent = [], 0.0
    for source, part in enumerate(parts):
        router = each.build(source=source)
        started = time.process_time()
        routes.append(router.route(part))
        spent += time.process_time() - started
        done()
    workers, hashes = np.concatenate(routes), np.concatenate(parts)
    return _Run(
        each,
        worker_loads(workers, each.n_workers),
        replication(hashes, workers),
        spent / len(hashes) * 1e9,
    )


def _table(runs: list[_Run]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        caption="busiest: its load over the average; replicas: on how many workers a key is",
        caption_justify="left",
    )
    table.add_column("grouping", no_wrap=True)
    table.add_column("load by worker", no_wrap=True)
    for title in ("busiest", "imbalance", "replicas", "ns/tuple"):
        table.add_column(title, justify="right", no_wrap=True)
    highest = max(run.loads.max() for run in runs)
    for run in runs:
        ratio = peak(run.loads)
        colour = "green" if ratio < 1.05 else "yellow" if ratio < 2 else "red"
        table.add_row(
            run.grouping.spec.name,
            f"[{colour}]{bars(run.loads, highest)}[/]",
            f"[{colour}]{ratio:.2f}[/]",
            f"{imbalance(run.loads):.1e}",
            f"{run.replication:.2f}",
            f"{run.nanoseconds:.1f}",
        )
    return table


def bars(loads: Loads, highest: float) -> str:
    """Draw a bar a worker, the busiest first; of many workers a few, evenly picked."""
    levels = np.ceil(busiest_first(loads, _BARS) / highest * (len(LEVELS) - 1)).astype(int)
    return "".join(LEVELS[level] for level in levels)


def busiest_first(loads: Loads, most: int) -> Loads:
    """Sort loads; of more than ``most`` pick so many, evenly."""
    falling = -np.sort(-loads)
    picked: Loads = falling[np.linspace(0, len(loads) - 1, min(len(loads), most)).astype(int)]
    return picked


def _verdict(runs: list[_Run]) -> str:
    """Say what the best balance among the cheapest in memory gains over the worst."""
    worst = max(runs, key=lambda run: peak(run.loads))
    even = [run for run in runs if peak(run.loads) < 1.05] or [
        min(runs, key=lambda run: peak(run.loads))
    ]
    best = min(even, key=lambda run: run.replication)
    if best is worst:
        return f"The busiest worker gets {peak(best.loads):.2f} times its share."
    return (
        f"A job ends with its busiest worker: {worst.grouping.spec.name} gives it "
        f"{peak(worst.loads):.1f} times its share, {best.grouping.spec.name} "
        f"{peak(best.loads):.2f} times, with {best.replication:.1f} replicas a key."
    )
