"""Workers of different speed: what each scheme makes of them, as in CG figs 8, 11 and 12.

Ten workers, of which three are five times as fast as the others, are fed at 80 % of what they can
do together. After a third of the stream, and after two, others are the fast ones. Nobody tells the
sources. Once a slot a worker compares what it has to do, its queue and what came, with what it can
do in that time, and for `cg` says in one bit if that is too much or too little.

The paper shows the difference of the highest and the lowest utilisation, and queues, over time.
Here utilisation is what came over what a worker can do, and both are given for the last quarter of
each third, when schemes have had time to adapt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import unskew
from benchmarks.streams import FULL, KEYS, Stream, zipf
from benchmarks.tables import Table
from unskew.grouping.cg import VirtualWorkerRouter
from unskew.typing import AnyArray, Loads

SKEW = 1.0  # the hottest key has a tenth, as in the Wikipedia trace of the paper
WORKERS, FAST, FASTER = 10, 3, 5.0
DEMAND = 0.8
SOURCES = 5
SLOT = 5_000
THIRDS = 3

SCHEMES: dict[str, tuple[str, dict[str, Any]]] = {
    "`key`": ("key", {}),
    "`shuffle`": ("shuffle", {}),
    "`w-choices`": ("w-choices", {}),
    "`bounded`, told at the start": ("bounded", {"capacities": True}),
    "`cg`, alpha = 5": ("cg", {"alpha": 5}),
    "`cg`, alpha = 10": ("cg", {"alpha": 10}),
    "`cg`, alpha = 100": ("cg", {"alpha": 100}),
    "`cg`, alpha = 1000": ("cg", {"alpha": 1000}),
    "`cg`, alpha = 10, probe": ("cg", {"alpha": 10, "probe": True}),
    "`cg`, alpha = 100, probe": ("cg", {"alpha": 100, "probe": True}),
}


class Slot(NamedTuple):
    """What was seen in one slot."""

    utilisation: Loads
    queue: Loads


def measure(*, quick: bool) -> dict[str, Any]:
    """Run every scheme over one stream."""
    stream = zipf(SKEW, FULL // 4 if quick else FULL)
    return {"tuples": len(stream.ranks), "schemes": {name: _run(name, stream) for name in SCHEMES}}


def _run(name: str, stream: Stream) -> dict[str, Any]:
    seen = np.zeros((KEYS + 2, WORKERS), np.bool_)
    slots = list(_slots(name, stream, seen))
    third = len(slots) // THIRDS
    ends = [slots[at * third + 3 * third // 4 : (at + 1) * third] for at in range(THIRDS)]
    return {
        "difference": [np.mean([np.ptp(slot.utilisation) for slot in end]) for end in ends],
        "highest": [np.mean([slot.utilisation.max() for slot in end]) for end in ends],
        "queue": [max(slot.queue.max() for slot in end) for end in ends],
        "replication": seen.sum() / seen.any(axis=1).sum(),
    }


def _slots(name: str, stream: Stream, seen: AnyArray) -> Iterator[Slot]:
    scheme, settings = SCHEMES[name]
    if "capacities" in settings:
        settings = settings | {"capacities": _speeds(0)}
    grouping = unskew.grouping(scheme, WORKERS, **settings)
    routers = [grouping.build(source=source) for source in range(SOURCES)]
    queue = np.zeros(WORKERS)
    count = len(stream.ranks) // SLOT
    for slot in range(count):
        able = _speeds(slot * THIRDS // count)
        able *= SLOT / DEMAND / able.sum()
        came = np.zeros(WORKERS)
        for source, router in enumerate(routers):
            part = slice(slot * SLOT + source, (slot + 1) * SLOT, SOURCES)
            workers = router.route(stream.hashes[part])
            came += np.bincount(workers, minlength=WORKERS)
            seen[stream.ranks[part], workers] = True
        for router in routers:
            if isinstance(router, VirtualWorkerRouter):
                signals = router.grouping.signal((queue + came) / able)
                router.observe(signals=signals, now=slot * router.grouping.t_0)
        queue = np.maximum(queue + came - able, 0)
        yield Slot(came / able, queue)


def _speeds(third: int) -> Loads:
    speeds = np.ones(WORKERS)
    speeds[third * FAST : (third + 1) * FAST] = FASTER
    return speeds


def tables(results: dict[str, Any]) -> list[Table]:
    """Show how far workers are apart, before and after others are fast."""
    table = Table(
        "capacities",
        f"{results['tuples']:,} tuples of Zipf {SKEW} from {SOURCES} sources to {WORKERS} workers, "
        f"of which {FAST} are {FASTER:g} times as fast; thirds 1 to {THIRDS} of the stream",
        (
            "scheme",
            *(f"highest - lowest utilisation, {at}" for at in range(1, THIRDS + 1)),
            *(f"highest, {at}" for at in range(1, THIRDS + 1)),
            *(f"longest queue, {at}" for at in range(1, THIRDS + 1)),
            "replication",
        ),
    )
    for name, found in results["schemes"].items():
        table.add(
            name,
            *(f"{figure:.2f}" for figure in found["difference"]),
            *(f"{figure:.2f}" for figure in found["highest"]),
            *(f"{figure:,.0f}" for figure in found["queue"]),
            f"{found['replication']:.2f}",
        )
    return [table]
