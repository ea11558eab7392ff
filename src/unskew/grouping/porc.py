"""Power of Random Choices (PoRC): the first candidate of a key that has room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.grouping.base import Grouping, GroupingSpec, Router, Trait
from unskew.grouping.bound import EPSILON, UNKNOWN, bound_on, check_epsilon
from unskew.hashing.candidates import (
    first_of,
    inside,
    prime_for,
    second_offset,
    step_of,
    worker_behind,
)
from unskew.hashing.mix import salt_of, spread
from unskew.typing import AnyArray, KeyHashes, Loads, Weights, Workers


class _Cursors(NamedTuple):
    """How far the candidates of recent keys are known to be full, and until which bound.

    A cache, in which a key has one place that it shares with others: without it the search starts
    over.
    """

    keys: KeyHashes
    until: npt.NDArray[np.float64]
    position: npt.NDArray[np.int64]
    walk: npt.NDArray[np.uint64]


@kernel
def _first_with_room(
    mixed: np.uint64,
    bound: float,
    prime: np.uint64,
    loads: Loads,
    keys: KeyHashes,
    until: npt.NDArray[np.float64],
    position: npt.NDArray[np.int64],
    walk: npt.NDArray[np.uint64],
) -> np.int64:
    """Return the first of F_2, F_3, ... that has room; F_1, which has none, if none has."""
    n = np.uint64(loads.shape[0])
    first = first_of(mixed, n)
    start, step = second_offset(mixed, n), step_of(mixed, prime)
    slot = np.int64(mixed) & np.int64(keys.shape[0] - 1)
    if keys[slot] == mixed and until[slot] >= bound:
        at, offset, lowest = position[slot], walk[slot], until[slot]
    else:
        at, offset, lowest = np.int64(1), start, loads[np.int64(first)]
    while at < loads.shape[0]:
        worker = worker_behind(first, inside(offset, start, step, prime, n), n)
        if loads[worker] < bound:
            keys[slot], until[slot], position[slot], walk[slot] = mixed, lowest, at, offset
            return worker
        lowest = min(lowest, loads[worker])
        offset += step
        offset = offset - prime if offset >= prime else offset
        at += 1
    return np.int64(first)


@kernel
def _route_porc(
    hashes: KeyHashes,
    weights: Weights,
    salt: np.uint64,
    epsilon: float,
    prime: np.uint64,
    loads: Loads,
    total: Loads,
    cursors: _Cursors,
    out: Workers,
) -> None:
    """Fill ``out`` and advance the loads in arrival order; allocates nothing."""
    n = loads.shape[0]
    for i in range(hashes.shape[0]):
        weight = weights[i] if weights.shape[0] else 1.0
        bound = bound_on(total[0], weight, epsilon, np.float64(n))
        mixed = spread(hashes[i], salt)
        chosen = np.int64(first_of(mixed, np.uint64(n)))
        if loads[chosen] >= bound:
            chosen = _first_with_room(
                mixed, bound, prime, loads,
                cursors.keys, cursors.until, cursors.position, cursors.walk,
            )  # fmt: skip
        total[0] += weight
        loads[chosen] += weight
        out[i] = chosen


@dataclass(frozen=True, slots=True)
class PowerOfRandomChoices(Grouping):
    """Send each tuple to the key's first candidate below (1 + epsilon) times the average.

    CG sec. 5.1. So no worker has more than the ceiling of (1 + epsilon) times the average load of
    this source, at any moment; with weights, plus the largest weight. Most keys stay on their
    first candidate; a hot key overflows to its next ones, each to others, and not to a neighbour
    on the ring that others overflow to as well.

    A tuple of a hot key would look at the same full workers again and again, from F_1 on. It is
    remembered for recent keys how far their candidates are full; that holds while the bound is
    not above the least load of those passed, so a hot key passes a worker once for each time the
    bound rises. The routes are those of starting over.

    Deviation: the candidates are distinct workers, so the n-th at the latest has room; the hashes
    of CG may name a worker again before they have named all, and the search has no end but luck.

    >>> router = PowerOfRandomChoices(n_workers=4).build()
    >>> router.route(np.full(8, 42, dtype=np.uint64)).tolist()  # one hot key
    [2, 1, 0, 2, 1, 0, 3, 2]
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec(
        "porc", "CG 5.1", Trait.SPLITS_KEYS | Trait.ORDER_DEPENDENT | Trait.COMPILED
    )
    epsilon: float = EPSILON
    """How far above the average a worker's load may be, as a share of the average."""

    def __post_init__(self) -> None:
        """Check epsilon."""
        Grouping.__post_init__(self)
        self._settle("epsilon", check_epsilon(self.epsilon))

    def _start(self, source: int) -> Router:  # noqa: ARG002 - loads decide, from the first tuple on
        return _PorcRouter(self)


class _PorcRouter(Router):
    grouping: PowerOfRandomChoices

    def __init__(self, grouping: PowerOfRandomChoices) -> None:
        n = grouping.n_workers
        super().__init__(grouping, {"loads": np.zeros(n), "total": np.zeros(1)})
        self._prime = prime_for(n)
        # At most n keys come more than once while the bound stands; with room for four times as
        # many they rarely meet.
        places = 1 << (4 * n - 1).bit_length()
        self._cursors = _Cursors(
            keys=np.zeros(places, np.uint64),
            until=np.full(places, UNKNOWN),
            position=np.zeros(places, np.int64),
            walk=np.zeros(places, np.uint64),
        )

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take over the loads of a snapshot; what was known of full workers is forgotten."""
        super().restore(arrays)
        self._cursors.until[:] = UNKNOWN

    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        out = np.empty(len(hashes), np.int32)
        _route_porc(
            hashes,
            weights,
            salt_of(self.grouping.seed),
            self.grouping.epsilon,
            self._prime,
            self._state["loads"],
            self._state["total"],
            self._cursors,
            out,
        )
        return out
