"""Consistent hashing with bounded loads: the next worker on the ring that has room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.grouping.base import GroupingSpec, Trait
from unskew.grouping.bound import EPSILON, UNKNOWN, bound_on, check_epsilon
from unskew.grouping.consistent import RingGrouping
from unskew.grouping.elastic import ElasticRouter
from unskew.hashing.mix import salt_of, spread
from unskew.hashing.ring import Circle, point_of
from unskew.typing import AnyArray, KeyHashes, Loads, Weights, Workers


class _Skips(NamedTuple):
    """From each point, the next one that need be looked at, and until which bound that holds.

    A cache: without it every point on the way is looked at.
    """

    to: npt.NDArray[np.int32]
    until: npt.NDArray[np.float64]


@kernel
def _point_with_room(
    home: np.int64,
    bound: float,
    owners: npt.NDArray[np.int32],
    levels: Loads,
    to: npt.NDArray[np.int32],
    until: npt.NDArray[np.float64],
) -> np.int64:
    """Return the first point from ``home`` on whose worker has room; ``home`` if none has."""
    size = to.shape[0]
    at, passed, lowest = home, np.int64(0), np.inf
    while levels[owners[at]] >= bound:
        if until[at] >= bound:
            following = np.int64(to[at])
            lowest = min(lowest, until[at])
        else:
            following = at + 1 if at + 1 < size else np.int64(0)
            lowest = min(lowest, levels[owners[at]])
        passed += following - at if following > at else following - at + size
        if passed >= size:
            return home
        at = following
    if passed > 1:
        to[home], until[home] = at, lowest
    return at


@kernel
def _route_bounded(
    hashes: KeyHashes,
    weights: Weights,
    salt: np.uint64,
    epsilon: float,
    capacities: Loads,
    circle: Circle,
    loads: Loads,
    total: Loads,
    levels: Loads,
    skips: _Skips,
    out: Workers,
) -> None:
    """Fill ``out`` and advance the loads in arrival order; allocates nothing."""
    capacity = capacities.sum()
    last = skips.to.shape[0]
    for i in range(hashes.shape[0]):
        weight = weights[i] if weights.shape[0] else 1.0
        bound = bound_on(total[0], weight, epsilon, capacity)
        home = point_of(spread(hashes[i], salt), circle.points, circle.first, circle.shift)
        home = home if home < last else np.int64(0)  # behind the last point comes the first
        at = _point_with_room(home, bound, circle.owners, levels, skips.to, skips.until)
        chosen = circle.owners[at]
        total[0] += weight
        loads[chosen] += weight
        levels[chosen] = loads[chosen] / capacities[chosen]
        out[i] = chosen


@dataclass(frozen=True, slots=True)
class BoundedLoads(RingGrouping):
    """Send each tuple to the next worker on the ring below (1 + epsilon) times the average [1]_.

    CG sec. 4.2. So no worker has more than the ceiling of (1 + epsilon) times the average load of
    this source, at any moment; with weights, plus the largest weight. The workers that a hot key
    overflows to are the same every time, those behind it on the ring.

    A tuple of a hot key would pass the same full workers again and again. Each point of the ring
    remembers where the last search from it ended; that holds while the bound is not above the
    least load of those passed, so a hot key passes a worker once for each time the bound rises.

    Deviations. [1]_ places balls that stay, and moves some when others go; tuples are gone once
    they are sent, so loads count from the start of the router, or from a resize: old loads would
    send everything to a new worker until it has caught up with the others' past. The capacity of
    a worker is always the ceiling of its bound, where [1]_ rounds some up and others down, to add
    up to exactly (1 + epsilon) times the total. With ``capacities`` a worker's bound is in
    proportion to its own.

    >>> router = BoundedLoads(n_workers=4).build()
    >>> router.route(np.full(8, 42, dtype=np.uint64)).tolist()  # one hot key
    [2, 0, 3, 2, 0, 3, 1, 2]

    .. [1] Mirrokni, Thorup and Zadimoghaddam, "Consistent hashing with bounded loads", SODA 2018.
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec(
        "bounded",
        "CG 4.2",
        Trait.SPLITS_KEYS | Trait.ORDER_DEPENDENT | Trait.COMPILED | Trait.ELASTIC,
    )
    epsilon: float = EPSILON
    """How far above the average a worker's load may be, as a share of the average."""

    def __post_init__(self) -> None:
        """Check epsilon."""
        RingGrouping.__post_init__(self)
        self._settle("epsilon", check_epsilon(self.epsilon))

    def _start(self, source: int) -> _BoundedRouter:  # noqa: ARG002 - loads decide
        return _BoundedRouter(self)


class _BoundedRouter(ElasticRouter):
    grouping: BoundedLoads

    def __init__(self, grouping: BoundedLoads) -> None:
        n = grouping.n_workers
        super().__init__(grouping, {"loads": np.zeros(n), "total": np.zeros(1)})
        self._circle = grouping.ring.circle
        self._capacities = np.array(grouping.capacities or np.ones(n))
        self._levels = np.zeros(n)
        size = len(self._circle.points) - 1
        self._skips = _Skips(np.zeros(size, np.int32), np.full(size, UNKNOWN))

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take over the loads of a snapshot; what was known of full workers is forgotten."""
        super().restore(arrays)
        self._levels[:] = self._state["loads"] / self._capacities
        self._skips.until[:] = UNKNOWN

    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        out = np.empty(len(hashes), np.int32)
        _route_bounded(
            hashes,
            weights,
            salt_of(self.grouping.seed),
            self.grouping.epsilon,
            self._capacities,
            self._circle,
            self._state["loads"],
            self._state["total"],
            self._levels,
            self._skips,
            out,
        )
        return out

    def _resized(self, grouping: BoundedLoads) -> Self:
        return type(self)(grouping)
