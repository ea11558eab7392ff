"""What a route costs: every scheme over 10^7 tuples, against `key` in the same run.

And what a look-up on the ring costs, against `uhashring`, which looks one key up at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import md5
from importlib.metadata import version
from typing import Any

import numpy as np
from uhashring import HashRing

import unskew
from benchmarks.streams import FULL, zipf
from benchmarks.tables import Table, met
from unskew.hashing.mix import mix
from unskew.hashing.ring import POINTS, Ring

WORKERS = (10, 100, 1000)
SKEW = 1.4
TIMES_KEY = {
    "pkg": 4.0, "d-choices": 15.0, "w-choices": 15.0, "round-robin": 15.0,
    "consistent": 5.0,
    "bounded": 20.0, "porc": 20.0, "cg": 20.0, "fish": 20.0, "waterline": 30.0,
}  # fmt: skip
GROWTH = {"d-choices": 8.0, "porc": 4.0}
USUAL_GROWTH = 2.0

LOOKED_UP = 100_000


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
    return {
        "tuples": tuples,
        "rounds": rounds,
        "nanoseconds": best,
        "rings": [_rings(n, rounds) for n in WORKERS],
    }


def _rings(n: int, rounds: int) -> dict[str, Any]:
    """Return nanoseconds a look-up and microseconds for another worker, by ring."""
    ours = Ring(range(n))
    theirs = HashRing(nodes=list(map(str, range(n))), vnodes=POINTS, hash_fn=_given_or_md5)
    hashes = mix(np.arange(LOOKED_UP, dtype=np.uint64))
    several, one_by_one = np.tile(hashes, 10), hashes.tolist()
    keys = list(map(str, range(LOOKED_UP)))

    def once() -> dict[str, float]:
        growing = HashRing(nodes=list(map(str, range(n))), vnodes=POINTS)
        return {
            "Ring": _spent(lambda: ours.lookup(several)) / len(several) * 1e9,
            "uhashring, hash given": _spent(lambda: [theirs.get_node(key) for key in one_by_one])
            / LOOKED_UP * 1e9,
            "uhashring": _spent(lambda: [growing.get_node(key) for key in keys]) / LOOKED_UP * 1e9,
            "Ring, add": _spent(lambda: ours.add(n)) * 1e6,
            "uhashring, add": _spent(lambda: growing.add_node(str(n))) * 1e6,
        }  # fmt: skip

    runs = [once() for _ in range(rounds)]
    return {"workers": n} | {name: min(run[name] for run in runs) for name in runs[0]}


def _given_or_md5(key: int | str) -> int:
    """Hash points as `uhashring` does by itself, and take keys for hashes already."""
    return key if isinstance(key, int) else int(md5(key.encode()).hexdigest(), 16) >> 64  # noqa: S324


def _spent(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def tables(results: dict[str, Any]) -> list[Table]:
    """Put figure and target side by side, then the rings."""
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
    return [table, _ring_table(results["rings"])]


def _ring_table(rings: list[dict[str, Any]]) -> Table:
    table = Table(
        "rings",
        f"The ring, {POINTS} points a worker, beside uhashring {version('uhashring')}; CPU time",
        (
            "n", "Ring, ns a key", "uhashring, hash given", "uhashring", "x hash given",
            "another worker: Ring, us", "uhashring, us",
        ),
    )  # fmt: skip
    for ring in rings:
        table.add(
            ring["workers"],
            f"{ring['Ring']:.1f}",
            f"{ring['uhashring, hash given']:.0f}",
            f"{ring['uhashring']:.0f}",
            f"{ring['uhashring, hash given'] / ring['Ring']:.0f}",
            f"{ring['Ring, add']:,.0f}",
            f"{ring['uhashring, add']:,.0f}",
        )
    return table
