"""Imbalance and replication against the simulators that the schemes' authors released.

`authors_simulators.csv` holds what those measured on the same streams, with sources fed round
robin: imbalance, max_w(load_w) / tuples - 1 / n, and replicas a key. The simulator of CG gives each
worker ten virtual ones, evenly dealt out, and no worker is ever busy or idle.
"""

from __future__ import annotations

import csv
import functools
import statistics
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

import unskew
from benchmarks.streams import FULL, KEYS, Stream, zipf
from benchmarks.tables import Table, met
from unskew._kernel import kernel
from unskew.hashing.candidates import first_of
from unskew.hashing.mix import salt_of, spread
from unskew.typing import KeyHashes, Loads, Workers

SOURCES = 5
W_CHOICES_LIMIT = 1e-5
D_CHOICES_LIMIT = 5e-4  # five sources of epsilon = 1e-4
INDEPENDENT = "pkg, independent hashes"
SCHEMES = {
    "SG": ["shuffle"], "KG": ["key"], "PKG": ["pkg", INDEPENDENT], "PoTC": ["two-choices"],
    "WC": ["w-choices"], "DC": ["d-choices"], "RR": ["round-robin"],
    "CH": ["consistent, 10 points"], "CG-KG": ["cg of key"], "CG-PKG": ["cg of pkg"],
}  # fmt: skip
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "consistent, 10 points": ("consistent", {"points": 10}),
    "cg of key": ("cg", {"inner": "key"}),
    "cg of pkg": ("cg", {"inner": "pkg"}),
}
HEAD = ("w-choices", "d-choices", "round-robin")

WIDE_WORKERS = (5, 10, 20, 50, 100)
WIDE_SKEWS = (0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
WIDE_TUPLES = 1_000_000


class Routes(Protocol):
    """What the benchmark needs of a router."""

    def route(self, hashes: KeyHashes) -> Workers:
        """Give every tuple a worker."""


class MakeRouters(Protocol):
    """What makes the routers of one run."""

    def __call__(
        self, name: str, n: int, seed: int, sources: int, epsilon: float, /
    ) -> list[Routes]:
        """Return a router for each source."""


class Cell(NamedTuple):
    """A stream dealt out to the sources, and what is counted of it for every scheme."""

    parts: list[KeyHashes]
    ranks: list[npt.NDArray[np.int32]]
    tuples: int
    keys: int

    @classmethod
    def of(cls, stream: Stream, sources: int = SOURCES) -> Cell:
        """Deal a stream out to the sources, round robin."""
        return cls(
            [stream.hashes[source::sources].copy() for source in range(sources)],
            [stream.ranks[source::sources].copy() for source in range(sources)],
            len(stream.ranks),
            np.count_nonzero(np.bincount(stream.ranks)),
        )

    def run(self, routers: list[Routes], n: int) -> tuple[float, float]:
        """Return imbalance and replication."""
        loads = np.zeros(n, np.int64)
        seen = np.zeros((KEYS + 2) * n, np.bool_)
        for router, hashes, ranks in zip(routers, self.parts, self.ranks, strict=True):
            workers = router.route(hashes)
            loads += np.bincount(workers, minlength=n)
            seen[ranks * np.int32(n) + workers] = True
        if loads.sum() != self.tuples:
            raise RuntimeError(f"{loads.sum()} tuples arrived of {self.tuples}")
        imbalance = round(float(loads.max() / self.tuples - 1 / n), 9)
        return imbalance, np.count_nonzero(seen) / self.keys


@kernel
def _route_independent(hashes: KeyHashes, salts: KeyHashes, loads: Loads, out: Workers) -> None:
    n = np.uint64(loads.shape[0])
    for i in range(hashes.shape[0]):
        first = np.int64(first_of(spread(hashes[i], salts[0]), n))
        second = np.int64(first_of(spread(hashes[i], salts[1]), n))
        chosen = second if loads[second] < loads[first] else first
        loads[chosen] += 1.0
        out[i] = chosen


class IndependentPkg:
    """PKG as its authors released it: two unrelated hashes, which coincide once in n keys."""

    def __init__(self, n: int, seed: int) -> None:
        self._loads = np.zeros(n)
        self._salts = np.array([salt_of(2 * seed + 1), salt_of(2 * seed + 2)], np.uint64)

    def route(self, hashes: KeyHashes) -> Workers:
        """Give every tuple a worker."""
        out = np.empty(len(hashes), np.int32)
        _route_independent(hashes, self._salts, self._loads, out)
        return out


def measure(*, quick: bool) -> dict[str, Any]:
    """Run every cell of the reference, and D-Choices over a wider field, over several seeds."""
    return {
        "cells": reference_cells(SCHEMES, _routers, 4 if quick else 20, quick=quick),
        "d_choices": _wide(2 if quick else 10, (10, 50) if quick else WIDE_WORKERS),
    }


def reference_cells(
    schemes: dict[str, list[str]], routers: MakeRouters, seeds: int, *, quick: bool
) -> list[dict[str, Any]]:
    """Run the cells of the reference that some of its schemes have, by our names for these."""
    streams = {z: zipf(z) for z in (1.0, 1.4, 2.0)}
    cell_of = functools.cache(lambda z, tuples, sources: Cell.of(streams[z].first(tuples), sources))
    cells: dict[tuple[Any, ...], dict[str, Any]] = {}
    with Path(__file__).with_name("authors_simulators.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            tuples, n, z = int(row["tuples"]), int(row["workers"]), float(row["zipf"])
            sources, epsilon = int(row["sources"]), float(row["epsilon"] or 0)
            for name in schemes.get(row["scheme"], []):
                cell = cells.setdefault(
                    (name, n, z, epsilon),
                    {
                        "scheme": name, "workers": n, "zipf": z, "epsilon": epsilon,
                        "sources": sources,
                        "tuples": min(tuples, 1_000_000) if quick else tuples,
                        "reference_imbalance": [], "reference_replication": [],
                    },
                )  # fmt: skip
                cell["reference_imbalance"].append(float(row["imbalance"]))
                cell["reference_replication"].append(float(row["replicas_per_key"]))
    for (name, n, z, epsilon), cell in cells.items():
        stream = cell_of(z, cell["tuples"], cell["sources"])
        runs = [
            stream.run(routers(name, n, seed, cell["sources"], epsilon), n) for seed in range(seeds)
        ]
        cell["imbalance"], cell["replication"] = (
            list(column) for column in zip(*runs, strict=True)
        )
    return list(cells.values())


def _routers(name: str, n: int, seed: int, sources: int, _epsilon: float) -> list[Routes]:
    if name == INDEPENDENT:
        return [IndependentPkg(n, seed) for _ in range(sources)]
    scheme, settings = SETTINGS.get(name, (name, {}))
    grouping = unskew.grouping(scheme, n, seed=seed, **settings)
    return [grouping.build(source=source) for source in range(sources)]


def _wide(seeds: int, workers: tuple[int, ...]) -> list[dict[str, Any]]:
    results = []
    for z in WIDE_SKEWS:
        cell = Cell.of(zipf(z, WIDE_TUPLES))
        for n in workers:
            for distinct in (False, True):
                runs = []
                for seed in range(seeds):
                    grouping = unskew.grouping("d-choices", n, seed=seed, distinct=distinct)
                    runs.append(cell.run([grouping.build(source=j) for j in range(SOURCES)], n))
                imbalance, replication = (list(column) for column in zip(*runs, strict=True))
                results.append(
                    {
                        "workers": n, "zipf": z, "distinct": distinct,
                        "imbalance": imbalance, "replication": replication,
                    }
                )  # fmt: skip
    return results


def tables(results: dict[str, Any]) -> list[Table]:
    """Compare with the reference, then with the targets, then report the wider field."""
    cells = results["cells"]
    seeds = len(cells[0]["imbalance"])
    return [
        _reproduced([cell for cell in cells if cell["scheme"] not in HEAD], seeds),
        _head_schemes([cell for cell in cells if cell["scheme"] in HEAD], seeds),
        *_wide_tables(results["d_choices"]),
    ]


def _reproduced(cells: list[dict[str, Any]], seeds: int) -> Table:
    full = max(cell["tuples"] for cell in cells) == FULL
    shorter = "" if full else "; streams shorter than the reference's, which the least ones show"
    table = Table(
        "reproduced",
        f"Schemes whose released code matches the papers; {seeds} seeds{shorter}",
        (
            "scheme", "n", "Zipf", "imbalance, median", "least", "greatest", "released code",
            "within", "replication, median", "released code",
        ),
    )  # fmt: skip
    for cell in cells:
        low, high = min(cell["imbalance"]), max(cell["imbalance"])
        within = [low <= figure <= high for figure in cell["reference_imbalance"]]
        table.add(
            _quoted(cell["scheme"]),
            cell["workers"],
            cell["zipf"],
            shown(statistics.median(cell["imbalance"])),
            shown(low),
            shown(high),
            ", ".join(map(shown, cell["reference_imbalance"])),
            "yes" if all(within) else f"{sum(within)} of {len(within)}",
            f"{statistics.median(cell['replication']):.3f}",
            ", ".join(f"{figure:.3f}" for figure in cell["reference_replication"]),
        )
    return table


def _head_schemes(cells: list[dict[str, Any]], seeds: int) -> Table:
    limits = {"w-choices": W_CHOICES_LIMIT, "d-choices": D_CHOICES_LIMIT}
    table = Table(
        "head-schemes",
        f"Head-and-tail schemes, whose released code departs from the paper; {seeds} seeds",
        (
            "scheme", "n", "Zipf", "imbalance, median", "greatest", "target", "verdict",
            "released code", "replication, median", "released code", "ratio",
        ),
    )  # fmt: skip
    for cell in cells:
        worst, limit = max(cell["imbalance"]), limits.get(cell["scheme"])
        replication = statistics.median(cell["replication"])
        table.add(
            _quoted(cell["scheme"]),
            cell["workers"],
            cell["zipf"],
            shown(statistics.median(cell["imbalance"])),
            shown(worst),
            f"{limit:g}" if limit else "-",
            met(worst <= limit) if limit else "-",
            shown(cell["reference_imbalance"][0]),
            f"{replication:.3f}",
            f"{cell['reference_replication'][0]:.3f}",
            f"{replication / cell['reference_replication'][0]:.2f}",
        )
    return table


def _wide_tables(cells: list[dict[str, Any]]) -> list[Table]:
    skews = sorted({cell["zipf"] for cell in cells})
    seeds = len(cells[0]["imbalance"])
    columns = ("n", "b_h", *(f"z = {z}" for z in skews))
    imbalance = Table(
        "d-choices-imbalance",
        f"d-choices: greatest imbalance of {seeds} seeds; in brackets how many are above 5 epsilon",
        columns,
    )
    replication = Table("d-choices-replication", "d-choices: replication, median", columns)
    for n in sorted({cell["workers"] for cell in cells}):
        for distinct in (False, True):
            row = {
                cell["zipf"]: cell
                for cell in cells
                if cell["workers"] == n and cell["distinct"] == distinct
            }
            form = "distinct" if distinct else "printed"
            imbalance.add(n, form, *(_worst(row[z]["imbalance"]) for z in skews))
            medians = (statistics.median(row[z]["replication"]) for z in skews)
            replication.add(n, form, *(f"{figure:.3f}" for figure in medians))
    return [imbalance, replication]


def _worst(imbalances: list[float]) -> str:
    above = sum(figure > D_CHOICES_LIMIT for figure in imbalances)
    return shown(max(imbalances)) + (f" ({above})" if above else "")


def shown(imbalance: float) -> str:
    """Return an imbalance as it stands in a table."""
    if imbalance == 0:
        return "0"
    return f"{imbalance:.4f}" if imbalance >= 0.001 else f"{imbalance:.1e}"


def _quoted(scheme: str) -> str:
    return f"`{scheme}`" if scheme in unskew.groupings() else scheme
