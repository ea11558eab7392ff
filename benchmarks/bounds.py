"""Schemes with a bound on load: that it holds, and how many replicas it takes.

`authors_simulators.csv` has what the simulator of CG's authors measured of bounded consistent
hashing and of PoRC, each on ten virtual workers a worker, dealt out evenly, with no worker ever
busy or idle. For the former its figures are those of a ring whose arcs have one length, as trials
showed. A ring of hashed points has longer arcs and shorter ones; the keys of a long arc flow over
to one neighbour, which makes more replicas. Both are measured.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

import unskew
from benchmarks.fidelity import Cell, Routes, reference_cells, shown
from benchmarks.streams import FULL, zipf
from benchmarks.tables import Table, met
from unskew._kernel import kernel
from unskew.typing import KeyHashes, Loads, Workers

ALPHA = 10
EVEN_RING = "cg of bounded, even arcs"
SCHEMES = {"CG-PoRC": ["cg of porc"], "CG-CHBL": ["cg of bounded", EVEN_RING]}
WITHIN: dict[str, tuple[str, dict[str, Any]]] = {
    "cg of porc": ("porc", {}),
    "cg of bounded": ("bounded", {"points": 1}),
}
WORKERS, SOURCES = 100, (1, 5, 50)


@kernel
def _route_even_ring(homes: Workers, epsilon: float, loads: Loads, out: Workers) -> None:
    n, before = loads.shape[0], loads.sum()
    for i in range(homes.shape[0]):
        bound = (1.0 + epsilon) * (before + i + 1) / n
        at = homes[i]
        while loads[at] >= bound:
            at = at + 1 if at + 1 < n else 0
        loads[at] += 1.0
        out[i] = at


class EvenRing:
    """Bounded loads on virtual workers, on a ring whose arcs are of one length."""

    def __init__(self, n: int, seed: int, epsilon: float) -> None:
        self._home = unskew.grouping("key", ALPHA * n, seed=seed).build()
        self._epsilon = epsilon
        self._loads = np.zeros(ALPHA * n)
        self._owners = np.random.default_rng(seed).permutation(ALPHA * n) % n

    def route(self, hashes: KeyHashes) -> Workers:
        """Give every tuple a worker."""
        out = np.empty(len(hashes), np.int32)
        _route_even_ring(self._home.route(hashes), self._epsilon, self._loads, out)
        return self._owners[out].astype(np.int32)


def measure(*, quick: bool) -> dict[str, Any]:
    """Run the cells of the reference over several seeds, then long streams on many workers."""
    return {
        "cells": reference_cells(SCHEMES, _routers, 4 if quick else 20, quick=quick),
        "long": _long_streams(FULL // 10 if quick else FULL),
    }


def _routers(name: str, n: int, seed: int, sources: int, epsilon: float) -> list[Routes]:
    if name == EVEN_RING:
        return [EvenRing(n, seed, epsilon) for _ in range(sources)]
    inner, parameters = WITHIN[name]
    grouping = unskew.grouping(
        "cg", n, seed=seed, alpha=ALPHA, inner=inner,
        inner_parameters=parameters | {"epsilon": epsilon},
    )  # fmt: skip
    return [grouping.build(source=source) for source in range(sources)]


def _long_streams(tuples: int) -> list[dict[str, Any]]:
    results = []
    for z in (1.0, 1.4, 2.0):
        stream = zipf(z, tuples)
        for sources in SOURCES:
            cell = Cell.of(stream, sources)
            for name in ("bounded", "porc"):
                grouping = unskew.grouping(name, WORKERS)
                routers: list[Routes] = [grouping.build(source=j) for j in range(sources)]
                imbalance, replication = cell.run(routers, WORKERS)
                results.append(
                    {
                        "scheme": name, "zipf": z, "sources": sources, "tuples": cell.tuples,
                        "limit": grouping.epsilon / WORKERS + sources / cell.tuples,
                        "imbalance": imbalance, "replication": replication,
                    }
                )  # fmt: skip
    return results


def tables(results: dict[str, Any]) -> list[Table]:
    """Compare with the bound, then with the released code."""
    return [_bounds_held(results["long"]), _reproduced(results["cells"])]


def _reproduced(cells: list[dict[str, Any]]) -> Table:
    seeds = len(cells[0]["imbalance"])
    table = Table(
        "bounded-reproduced",
        f"On ten virtual workers a worker; {seeds} seeds",
        (
            "scheme", "epsilon", "sources", "n", "Zipf", "imbalance, greatest", "bound", "verdict",
            "released code", "replication, least", "median", "greatest", "released code", "within",
        ),
    )  # fmt: skip
    for cell in cells:
        n, epsilon, sources = cell["workers"], cell["epsilon"], cell["sources"]
        bound = epsilon / n + ALPHA * sources / cell["tuples"]
        replication = cell["replication"]
        low, high = min(replication), max(replication)
        table.add(
            cell["scheme"],
            epsilon,
            sources,
            n,
            cell["zipf"],
            shown(max(cell["imbalance"])),
            shown(bound),
            met(max(cell["imbalance"]) <= bound),
            shown(cell["reference_imbalance"][0]),
            f"{low:.3f}",
            f"{statistics.median(replication):.3f}",
            f"{high:.3f}",
            f"{cell['reference_replication'][0]:.3f}",
            _place(cell["reference_replication"][0], low, high),
        )
    return table


def _place(figure: float, low: float, high: float) -> str:
    if low <= figure <= high:
        return "yes"
    return f"{figure / low - 1:+.1%}" if figure < low else f"{figure / high - 1:+.1%}"


def _bounds_held(cells: list[dict[str, Any]]) -> Table:
    table = Table(
        "bounds",
        f"Imbalance after {cells[0]['tuples']:,} tuples on {WORKERS} workers",
        (
            "scheme", "Zipf", "sources", "imbalance", "epsilon / n + s / m", "verdict",
            "replication",
        ),
    )  # fmt: skip
    for cell in cells:
        table.add(
            f"`{cell['scheme']}`",
            cell["zipf"],
            cell["sources"],
            f"{cell['imbalance']:.7f}",
            f"{cell['limit']:.7f}",
            met(cell["imbalance"] <= cell["limit"] + 1e-9),
            f"{cell['replication']:.3f}",
        )
    return table
