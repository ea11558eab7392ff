"""FISH on keys that change: simulated time, replication, and what a resize costs (figs 10 to 17).

The stream is that of FISH sec. 6.1: Zipf over 10^5 keys, and for the last fifth of every 5 * 10^6
tuples the ranks reversed, so that the coldest keys are the hottest of a sudden.

Time is that of a queue for each worker. Tuples come one by one, evenly, just as fast as all
workers together can work, to the sources in turn; a worker takes its tuples in the order they
came; the run ends when the last worker is done. A worker that has nothing to do for a while cannot
make up for it, so the time of a scheme shows how well it balances at every moment, not over the
whole. Where workers are alike, `shuffle` takes the least time there is.

Every source knows when its tuples came, and `fish` also how long a worker takes for one: as a
source sees it that is the service time for each of the sources, which the worker serves in turn.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import unskew
from benchmarks.streams import FULL
from benchmarks.tables import Table, met
from unskew import hash_keys
from unskew._kernel import kernel
from unskew.grouping.fish import FishRouter
from unskew.typing import KeyHashes, Loads, Workers

KEYS = 100_000
STRETCH = 5_000_000
SOURCES = 5
SERVICE = 0.001
WINDOW = 100_000
SKEWS = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
WORKERS = (16, 32, 64, 128)
SCHEMES = ("shuffle", "key", "pkg", "d-choices", "w-choices", "fish")
RIVALS = ("d-choices", "w-choices")
TIME_LIMIT, REPLICATION_LIMIT = 1.35, 2.7
UNEVEN_SKEWS = (1.0, 1.4, 2.0)
RESIZED_FROM = (16, 64)

Ranks = npt.NDArray[np.int32]


class Stream(NamedTuple):
    """A stream by the rank of each key, and their hashes."""

    ranks: Ranks
    hashes: KeyHashes


def measure(*, quick: bool) -> dict[str, Any]:
    """Run every scheme over skews and numbers of workers, then the two that are about `fish`."""
    tuples = FULL // 10 if quick else FULL
    skews, workers = ((1.0, 2.0), (16, 128)) if quick else (SKEWS, WORKERS)
    results: dict[str, Any] = {"tuples": tuples, "cells": [], "uneven": [], "resized": []}
    for z in skews:
        stream = evolving(z, tuples)
        for n in workers:
            results["cells"] += [_even_workers(name, n, z, stream) for name in SCHEMES]
        if z in UNEVEN_SKEWS:
            results["uneven"] += [
                _uneven_workers(n, z, stream) for n in workers[:: len(workers) - 1]
            ]
            results["resized"] += [
                _resized(n, n + step, z, stream) for n in RESIZED_FROM for step in (1, -1)
            ]
    return results


def evolving(z: float, tuples: int) -> Stream:
    """Return a Zipf stream whose ranks are reversed for the last fifth of every stretch."""
    shares = 1 / np.arange(1, KEYS + 1) ** z
    cumulated = np.cumsum(shares / shares.sum())
    generator = np.random.Generator(np.random.PCG64(20240501 + round(10 * z)))
    ranks = np.searchsorted(cumulated, generator.random(tuples)).astype(np.int32)
    np.minimum(ranks, KEYS - 1, out=ranks)  # rounding may yield one more
    late = np.arange(tuples) % min(STRETCH, tuples) >= min(STRETCH, tuples) * 4 // 5
    ranks[late] = KEYS - 1 - ranks[late]
    return Stream(ranks, _key_hashes()[ranks])


@functools.cache
def _key_hashes() -> KeyHashes:
    return hash_keys([str(rank) for rank in range(KEYS)])


def _even_workers(name: str, n: int, z: float, stream: Stream) -> dict[str, Any]:
    service = np.full(n, SERVICE)
    workers = _informed(name, n, stream, service) if name == "fish" else _plain(name, n, stream)
    return {
        "scheme": name, "workers": n, "zipf": z,
        "time": simulated_time(workers, service),
        "worst": worst_window(workers, n),
        "replication": replicas(stream.ranks, workers, n) / distinct(stream.ranks),
    }  # fmt: skip


def _uneven_workers(n: int, z: float, stream: Stream) -> dict[str, Any]:
    """FISH fig. 16: half of the workers are twice as fast as the others."""
    service = np.where(np.arange(n) % 2, SERVICE, SERVICE / 2)
    speeds = tuple(SERVICE / service)
    ways = {
        "w-choices": _plain("w-choices", n, stream),
        "fish, told nothing": _plain("fish", n, stream),
        "fish, capacities": _plain("fish", n, stream, capacities=speeds),
        "fish, service times": _informed("fish", n, stream, service),
    }
    least = len(stream.ranks) * _between(service)
    times = {way: simulated_time(workers, service) / least for way, workers in ways.items()}
    return {"workers": n, "zipf": z, "times": times}


def _plain(name: str, n: int, stream: Stream, **parameters: Any) -> Workers:
    """Route from several sources that know of no time."""
    grouping = unskew.grouping(name, n, **parameters)
    return _deal(stream, lambda source, part: grouping.build(source=source).route(part))


def _informed(name: str, n: int, stream: Stream, service: Loads) -> Workers:
    """Route from several sources that know when tuples came, and how long workers take."""
    grouping = unskew.grouping(name, n)

    def route(source: int, part: KeyHashes) -> Workers:
        router = grouping.build(source=source)
        router.observe(service_times=service * SOURCES, now=0.0)
        return router.route(part, times=_arrivals(source, len(part), service))

    return _deal(stream, route)


def _deal(stream: Stream, route: Callable[[int, KeyHashes], Workers]) -> Workers:
    workers = np.empty(len(stream.ranks), np.int32)
    for source in range(SOURCES):
        workers[source::SOURCES] = route(source, stream.hashes[source::SOURCES].copy())
    return workers


def _between(service: Loads) -> float:
    """Return how long after one tuple the next one comes."""
    return float(1 / (1 / service).sum())


def _arrivals(source: int, tuples: int, service: Loads) -> npt.NDArray[np.float64]:
    return (source + SOURCES * np.arange(tuples)) * _between(service)


@kernel
def _finish(workers: Workers, between: float, service: Loads, free: Loads) -> None:
    """Advance the time from which on each worker is free."""
    for i in range(workers.shape[0]):
        worker = workers[i]
        free[worker] = max(free[worker], i * between) + service[worker]


def simulated_time(workers: Workers, service: Loads) -> float:
    """Return when the last worker is done."""
    free = np.zeros(len(service))
    _finish(workers, _between(service), service, free)
    return float(free.max())


def worst_window(workers: Workers, n: int) -> float:
    """Return the load of the busiest worker over the average, in the worst stretch of tuples."""
    windows = workers[: len(workers) // WINDOW * WINDOW].reshape(-1, WINDOW)
    return max(float(np.bincount(window, minlength=n).max()) for window in windows) / WINDOW * n


def replicas(ranks: Ranks, workers: Workers, n: int) -> int:
    """Return on how many workers keys are, in all."""
    seen = np.zeros(KEYS * n, np.bool_)
    seen[ranks.astype(np.int64) * n + workers] = True
    return int(np.count_nonzero(seen))


def distinct(ranks: Ranks) -> int:
    """Return how many keys there are."""
    return int(np.count_nonzero(np.bincount(ranks)))


def _resized(n: int, to: int, z: float, stream: Stream) -> dict[str, Any]:
    """FISH fig. 17: a worker comes or goes when half of the stream is routed.

    Without the ring, candidates are a hash modulo the number of workers, so that a key has quite
    other ones when that number changes: the ring of another seed stands for it.
    """
    half = len(stream.ranks) // 2
    sizes: dict[str, list[int]] = {"ring": [], "no ring": [], "unchanged": []}
    for way in sizes:
        before, after = [], []
        for source in range(SOURCES):
            router = unskew.grouping("fish", n).build(source=source)
            before.append(router.route(stream.hashes[:half][source::SOURCES].copy()))
            router = _successor(way, router, to, source)
            after.append(router.route(stream.hashes[half:][source::SOURCES].copy()))
        first, second = _gathered(before), _gathered(after)
        most, last = max(n, to), n if way == "unchanged" else to
        there = first < last  # what a worker held that is gone does not count
        sizes[way] = [
            replicas(stream.ranks[:half], first, most),
            replicas(
                np.concatenate([stream.ranks[:half][there], stream.ranks[half:]]),
                np.concatenate([first[there], second]),
                most,
            ),
        ]
    return {
        "from": n,
        "to": to,
        "zipf": z,
        "replicas": sizes,
        "keys": [distinct(stream.ranks[:half]), distinct(stream.ranks)],
    }


def _successor(way: str, router: FishRouter, to: int, source: int) -> FishRouter:
    if way == "unchanged":
        return router
    resized = router.resize(to)
    if way == "ring":
        return resized
    elsewhere = dataclasses.replace(resized.grouping, seed=1)
    return elsewhere.build(resume=resized.snapshot(), source=source)


def _gathered(parts: list[Workers]) -> Workers:
    """Return what several sources routed, in the order of the stream."""
    workers = np.empty(sum(map(len, parts)), np.int32)
    for source, part in enumerate(parts):
        workers[source::SOURCES] = part
    return workers


def tables(results: dict[str, Any]) -> list[Table]:
    """Report figs 10 and 11 with the targets first, then figs 16 and 17."""
    cells = {(cell["zipf"], cell["workers"], cell["scheme"]): cell for cell in results["cells"]}
    over_shuffle = {
        (z, n, name): cell["time"] / cells[z, n, "shuffle"]["time"]
        for (z, n, name), cell in cells.items()
    }
    worst = {place: cell["worst"] for place, cell in cells.items()}
    replication = {place: cell["replication"] for place, cell in cells.items()}
    tuples = f"{results['tuples']:,} tuples"
    return [
        _targets(over_shuffle, worst, replication, tuples),
        _figure(
            "fish-time", f"FISH fig. 10: simulated time over that of `shuffle`; {tuples}",
            over_shuffle, "{:.4f}",
        ),
        _figure(
            "fish-worst",
            f"Load of the busiest worker over the average, in the worst {WINDOW:,} tuples",
            worst, "{:.2f}",
        ),
        _figure("fish-replication", "FISH fig. 11: replicas a key", replication, "{:.2f}"),
        _uneven(results["uneven"]),
        _resizes(results["resized"]),
    ]  # fmt: skip


Figures = dict[tuple[float, int, str], float]


def _targets(time: Figures, worst: Figures, replication: Figures, tuples: str) -> Table:
    table = Table(
        "fish-targets",
        f"`fish` on keys that change; {tuples}",
        ("figure", "least", "greatest", "worst at Zipf", "n", "target", "verdict"),
    )
    for what, figures, limit in (
        ("simulated time / `shuffle`", time, TIME_LIMIT),
        ("replication", replication, REPLICATION_LIMIT),
    ):
        found = {(z, n): figure for (z, n, name), figure in figures.items() if name == "fish"}
        (z, n), most = max(found.items(), key=lambda item: item[1])
        target = f"at most {limit:g}"
        table.add(what, _four(min(found.values())), _four(most), z, n, target, met(most <= limit))
    for what, figures in (("simulated time", time), ("busiest worker, worst stretch", worst)):
        for rival in RIVALS:
            ratios = {
                (z, n): figures[z, n, rival] / figure
                for (z, n, name), figure in figures.items()
                if name == "fish"
            }
            (z, n), least = min(ratios.items(), key=lambda item: item[1])
            table.add(
                f"{what}: `{rival}` / `fish`", _four(least), _four(max(ratios.values())),
                z, n, "above 1", met(least > 1),
            )  # fmt: skip
    return table


def _four(figure: float) -> str:
    return f"{figure:.4f}"


def _figure(name: str, title: str, figures: Figures, form: str) -> Table:
    skews = sorted({z for z, _, _ in figures})
    table = Table(name, title, ("scheme", "n", *(f"z = {z}" for z in skews)))
    for n in sorted({n for _, n, _ in figures}):
        for scheme in SCHEMES:
            row = (form.format(figures[z, n, scheme]) for z in skews)
            table.add(f"`{scheme}`", n, *row)
    return table


def _uneven(cells: list[dict[str, Any]]) -> Table:
    ways = list(cells[0]["times"])
    table = Table(
        "fish-uneven",
        "FISH fig. 16: half of the workers twice as fast; simulated time over the least there is",
        ("z", "n", *ways),
    )
    for cell in cells:
        table.add(cell["zipf"], cell["workers"], *(f"{cell['times'][way]:.3f}" for way in ways))
    return table


def _resizes(cells: list[dict[str, Any]]) -> Table:
    table = Table(
        "fish-resized",
        "FISH fig. 17: a worker comes or goes at half of the stream; replicas a key",
        (
            "z", "workers", "before", "after, unchanged", "after, ring", "after, no ring",
            "ring / unchanged", "no ring / unchanged",
        ),
    )  # fmt: skip
    for cell in cells:
        sizes, (keys_before, keys) = cell["replicas"], cell["keys"]
        same, ring, without = (sizes[way][1] for way in ("unchanged", "ring", "no ring"))
        table.add(
            cell["zipf"],
            f"{cell['from']} to {cell['to']}",
            f"{sizes['ring'][0] / keys_before:.2f}",
            *(f"{size / keys:.2f}" for size in (same, ring, without)),
            f"{ring / same:.2f}",
            f"{without / same:.2f}",
        )
    return table
