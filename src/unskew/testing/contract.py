"""The contract suite: what every grouping promises, checked on a stream.

Each check is named after the law it holds, raises `BrokenLawError` with what it saw, and uses the
public interface only. Run it over streams of your own, or over Hypothesis's:

>>> from unskew import grouping
>>> check_grouping(grouping("pkg", n_workers=10))
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from unskew.errors import BrokenLawError, InvalidInputError, UnskewError
from unskew.grouping.base import Grouping, Router, Trait
from unskew.grouping.snapshot import Snapshot
from unskew.hashing.mix import mix
from unskew.typing import AnyArray, KeyHashes, Workers

_SOURCES = 3


def check_grouping(
    grouping: Grouping,
    hashes: KeyHashes | None = None,
    weights: AnyArray | None = None,
    cuts: Iterable[int] = (1, 2, 500),
) -> None:
    """Hold a grouping to its laws on one stream, or on a few typical ones.

    ``cuts`` are positions at which the stream is cut into batches. Raises `BrokenLawError`.
    """
    if hashes is not None and len(hashes) == 0:
        raise InvalidInputError("hashes", "is empty", "pass a stream of at least one tuple")
    streams = _typical_streams() if hashes is None else [(hashes, weights)]
    for stream, costs in streams:
        batches = _cut(stream, costs, cuts)
        _conservation(grouping, stream, costs)
        _splits(grouping, stream, costs)
        _determinism(grouping, stream, costs)
        _batching(grouping, stream, costs, batches)
        _resumption(grouping, batches)
        _locality(grouping, batches)
        _refusal(grouping, batches)
    _bounded_memory(grouping)


def _conservation(grouping: Grouping, hashes: KeyHashes, weights: Any) -> None:
    """Law 1: each tuple gets exactly one worker in [0, n)."""
    for source in range(_SOURCES):
        workers = grouping.build(source=source).route(hashes, weights)
        _expect(
            "conservation",
            grouping,
            workers.dtype == np.int32 and workers.shape == hashes.shape,
            f"{hashes.shape} tuples got {workers.dtype} workers of shape {workers.shape}",
        )
        outside = np.flatnonzero((workers < 0) | (workers >= grouping.n_workers))
        _expect(
            "conservation",
            grouping,
            outside.size == 0,
            f"tuple {outside[:1]} of source {source} got worker {workers[outside[:1]]}",
        )


def _splits(grouping: Grouping, hashes: KeyHashes, weights: Any) -> None:
    """Law 2: who splits keys says so, and keeps to the number of workers it names."""
    seen: list[AnyArray] = []
    for source in range(_SOURCES):
        workers = grouping.build(source=source).route(hashes, weights)
        seen.append(workers)
        _, keys = np.unique(hashes, return_inverse=True)
        pairs = np.unique(keys.astype(np.int64) * grouping.n_workers + workers)
        most = np.bincount(pairs // grouping.n_workers).max(initial=0)
        _expect(
            "safe splits",
            grouping,
            most <= grouping.workers_per_key,
            f"a key is on {most} workers, workers_per_key says {grouping.workers_per_key}",
        )
    if not grouping.splits_keys:
        _expect(
            "safe splits",
            grouping,
            all(np.array_equal(seen[0], other) for other in seen),
            "two sources send one key to different workers",
        )
    if Trait.ORDER_DEPENDENT not in grouping.spec.traits:
        backwards = grouping.build().route(hashes[::-1].copy())
        _expect(
            "safe splits",
            grouping,
            np.array_equal(seen[0], backwards[::-1]),
            "routes depend on the order of tuples, and the trait is not set",
        )


def _determinism(grouping: Grouping, hashes: KeyHashes, weights: Any) -> None:
    """Law 3: the same grouping and tuples give the same routes."""
    travelled = pickle.loads(pickle.dumps(grouping))  # noqa: S301 - our own bytes
    _expect("determinism", grouping, travelled == grouping, "pickling changes the grouping")
    for source in range(_SOURCES):
        routes = grouping.build(source=source).route(hashes, weights)
        again = travelled.build(source=source).route(hashes.copy(), weights)
        _same("determinism", grouping, routes, again, f"a second run of source {source}")


def _batching(grouping: Grouping, hashes: KeyHashes, weights: Any, batches: Batches) -> None:
    """Law 6: how the stream is cut into batches does not matter, blocks being left whole."""
    block = grouping.block
    if block > 1:  # repeat the stream, so that there are cuts between blocks
        length = 2 * block + len(hashes)
        hashes = np.resize(hashes, length)
        weights = None if weights is None else np.resize(weights, length)
        batches = _cut(hashes, weights, (block, 2 * block))
    whole = grouping.build(source=1).route(hashes, weights)
    router = grouping.build(source=1)
    parts = np.concatenate([router.route(*batch) for batch in batches])
    _same("batching", grouping, whole, parts, "the stream cut into batches")


def _resumption(grouping: Grouping, batches: Batches) -> None:
    """Law 6: a router that resumes from a snapshot goes on as if it had never stopped."""
    straight, resumed = grouping.build(source=1), grouping.build(source=1)
    for position, batch in enumerate(batches):
        expected = straight.route(*batch)
        found = resumed.route(*batch)
        _same("resumption", grouping, expected, found, f"batch {position} after a snapshot")
        before = resumed.snapshot().to_bytes()
        resumed = grouping.build(resume=Snapshot.from_bytes(before), source=1)
        _expect(
            "resumption",
            grouping,
            resumed.snapshot().to_bytes() == before,
            "a snapshot of the resumed router differs",
        )


def _locality(grouping: Grouping, batches: Batches) -> None:
    """Law 7: a source decides from what it has seen; other sources do not disturb it."""
    alone, beside = grouping.build(source=0), grouping.build(source=0)
    neighbour = grouping.build(source=1)
    for batch in batches:
        expected = alone.route(*batch)
        neighbour.route(*batch)
        found = beside.route(*batch)
        _same("locality", grouping, expected, found, "a source with a neighbour")


def _refusal(grouping: Grouping, batches: Batches) -> None:
    """Bad input is refused, and a call that raises has changed nothing."""
    router = grouping.build()
    for hashes, weights in batches:
        before = router.snapshot().to_bytes()
        unusable = np.full(len(hashes), np.nan)
        unusable[:-1] = 1.0  # all is well until the last tuple
        bad: dict[str, tuple[Any, Any]] = {
            "32-bit floats": (hashes.astype(np.float32), None),
            "a 2-D array": (hashes[np.newaxis], None),
            "an empty array": (hashes[:0], None),
            "NaN as a weight": (hashes, unusable),
            "a negative weight": (hashes, np.where(np.isnan(unusable), -1.0, unusable)),
            "a weight too many": (hashes, np.ones(len(hashes) + 1)),
        }
        for what, call in bad.items():
            _expect("refusal", grouping, _refuses(router, *call), f"{what} was routed")
        after = router.snapshot().to_bytes()
        _expect("refusal", grouping, before == after, "a refused call changed the state")
        router.route(hashes, weights)


def _refuses(router: Router, hashes: Any, weights: Any) -> bool:
    try:
        router.route(hashes, weights)
    except UnskewError:
        return True
    return False


def _bounded_memory(grouping: Grouping) -> None:
    """Law 5: what a router holds does not grow with the number of keys."""
    router = grouping.build()
    sizes = []
    for start in (0, 20_000):
        router.route(mix(np.arange(start, start + 20_000, dtype=np.uint64)))
        # A sketch that is not full yet fills what it holds already, and its snapshot grows to it.
        sizes.append(max(_footprint(router), len(router.snapshot().to_bytes())))
    _expect(
        "bounded memory",
        grouping,
        sizes[1] <= sizes[0] + 4096,
        f"it held {sizes[0]} bytes after 20,000 keys and {sizes[1]} after 40,000",
    )


Batches = list[tuple[KeyHashes, Any]]


def _typical_streams() -> Iterator[tuple[KeyHashes, Any]]:
    random = np.random.default_rng(0)
    skewed = mix(random.zipf(1.5, 5000).astype(np.uint64))
    yield skewed, None
    yield skewed, random.exponential(size=len(skewed))
    yield mix(np.arange(3000, dtype=np.uint64)), None
    yield np.zeros(3000, np.uint64), None


def _cut(hashes: KeyHashes, weights: Any, cuts: Iterable[int]) -> Batches:
    edges = sorted({0, len(hashes), *(min(cut, len(hashes)) for cut in cuts)})
    costs = None if weights is None else np.asarray(weights)
    return [
        (hashes[a:b], None if costs is None else costs[a:b]) for a, b in itertools.pairwise(edges)
    ]


def _footprint(router: Router) -> int:
    """Bytes of everything a router reaches, arrays above all."""
    seen: dict[int, int] = {}
    todo: list[Any] = [router]
    while todo:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen[id(item)] = item.nbytes if isinstance(item, np.ndarray) else 64
        if isinstance(item, dict):
            todo += [*item.keys(), *item.values()]
        elif isinstance(item, tuple | list | set | frozenset):
            todo += item
        elif hasattr(item, "__dict__") and not isinstance(item, type):
            todo += vars(item).values()
    return sum(seen.values())


def _same(law: str, grouping: Grouping, expected: Workers, found: Workers, where: str) -> None:
    if not np.array_equal(expected, found):
        at = int(np.flatnonzero(expected != found)[0]) if expected.shape == found.shape else -1
        raise BrokenLawError(law, grouping, f"{where} routes otherwise, from tuple {at} on")


def _expect(law: str, grouping: Grouping, holds: bool, found: str) -> None:
    if not holds:
        raise BrokenLawError(law, grouping, found)
