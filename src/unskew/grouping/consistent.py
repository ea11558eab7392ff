"""Consistent hashing: a key's tuples all go to the next worker on the ring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from unskew.checks import check_whole
from unskew.grouping.base import GroupingSpec, Trait
from unskew.grouping.elastic import ElasticGrouping, ElasticRouter
from unskew.hashing.ring import MAX_POINTS, POINTS, Ring, check_points, shared_ring
from unskew.typing import KeyHashes, Weights, Workers


@dataclass(frozen=True, slots=True)
class RingGrouping(ElasticGrouping):
    """A scheme whose workers stand on the ring."""

    points: int = POINTS
    """Points on the ring of a worker of capacity 1; more of them even the shares out."""

    def __post_init__(self) -> None:
        """Check that the ring can be drawn."""
        ElasticGrouping.__post_init__(self)
        self._settle("points", check_whole("points", self.points, 1, MAX_POINTS))
        check_points(self.points, self.n_workers, self.capacities)

    @property
    def ring(self) -> Ring:
        """The ring, drawn once in a process."""
        return shared_ring(self.n_workers, self.capacities, self.points, self.seed)


@dataclass(frozen=True, slots=True)
class ConsistentHashing(RingGrouping):
    """Send each key to the worker whose point on the ring comes next; no state, no split.

    CH in CG sec. 4.2, FISH sec. 5 and Gedik sec. 4.1.1. As unbalanced as the data, like key
    grouping; but when a worker comes or goes, only the keys that it takes or leaves move, about
    one in n; the hash of key grouping moves half of all, a hash modulo n nearly all.

    Deviations: the ring has 64 bits (FISH 32, Gedik 128). A worker has points in proportion to its
    capacity, where CG has the same number for each and calls the scheme unaware of heterogeneity.

    >>> import numpy as np
    >>> router = ConsistentHashing(n_workers=4).build()
    >>> keys = np.arange(42, 50, dtype=np.uint64)
    >>> router.route(keys).tolist()
    [2, 0, 2, 2, 3, 0, 2, 2]
    >>> router.resize(5).route(keys).tolist()  # a key that moves goes to the new worker
    [2, 0, 2, 2, 3, 4, 2, 2]
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec("consistent", "CG 4.2", Trait.ELASTIC)

    def _start(self, source: int) -> _ConsistentRouter:  # noqa: ARG002 - every source routes alike
        return _ConsistentRouter(self)


class _ConsistentRouter(ElasticRouter):
    def __init__(self, grouping: ConsistentHashing) -> None:
        super().__init__(grouping, {})
        self._ring = grouping.ring

    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:  # noqa: ARG002 - no load
        return self._ring.lookup(hashes)

    def _resized(self, grouping: ConsistentHashing) -> Self:
        return type(self)(grouping)
