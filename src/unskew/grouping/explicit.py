"""Gedik's partitioning function: a worker of its own for each hot key, the ring for all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from unskew.checks import check_share, check_whole
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    SnapshotMismatchError,
)
from unskew.grouping.base import GroupingSpec, Trait
from unskew.grouping.consistent import RingGrouping
from unskew.grouping.elastic import ElasticRouter
from unskew.grouping.snapshot import Snapshot
from unskew.hashing.arrays import check_arrays
from unskew.partition.frequencies import Counted, Frequencies
from unskew.partition.function import PartitionFunction, consistent_function
from unskew.partition.plan import Plan, Planner
from unskew.partition.resources import Resources
from unskew.sketch.sliding import SlidingLossyCounting
from unskew.typing import AnyArray, KeyHashes, Weights, Workers

MAX_WINDOW = 2**40


@dataclass(frozen=True, slots=True)
class Explicit(RingGrouping):
    """Give each hot key the worker that a plan names, and leave all others on the ring.

    Gedik sec. 4. No key is split. Until a plan is activated, the scheme routes as `consistent`.

    Each router counts how often keys come and never moves one by itself: ``router.plan()`` makes
    the function to use next (`unskew.partition`), and ``router.activate(plan)`` returns a router
    that goes on with it. The driver does both, having taken in what all sources have counted with
    ``observe(counted=...)``, and all sources go on from the snapshot of that router together: a
    source that moved a key alone would split it.

    Where tuples have weights, the frequency of a key is its share of the weight.

    Deviations: epsilon is a tenth of delta, as in the paper, but no less than 1 / (10 max_tracked),
    which bounds the counters. What other sources have counted fades by ``decay`` when a plan is
    activated, so that a key that was not seen for one period is not taken for gone. Resizing makes
    a new function as a plan does.

    >>> router = Explicit(n_workers=2).build()
    >>> keys = np.array([1, 1, 2, 2], np.uint64)
    >>> router.route(keys).tolist()
    [0, 0, 0, 0]
    >>> plan = router.plan()
    >>> plan.moves
    (KeyMove(key=1, origin=0, destination=1, cost=0.5),)
    >>> router.activate(plan).route(keys).tolist()
    [1, 1, 0, 0]
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec(
        "explicit", "Gedik 4", Trait.ELASTIC | Trait.COMPILED
    )
    resources: Resources = field(default_factory=Resources)
    """What keys cost, and how uneven workers may be: from which share on a key is tracked."""
    construction: str = "readj"
    """How plans are made: scan, redist or readj."""
    utility: str = "apm"
    """What weighs balance against migration: a, apm, aplm, atm or atlm."""
    max_tracked: int = 1000
    """The most keys that have a worker of their own."""
    max_moves: int = 5
    """How often readj may move a key, in one plan and for each worker that is added."""
    epsilon: float | None = None
    """The share by which a count may be too low; see the deviations if None."""
    window: int = 1_000_000
    """Counts are of this many tuples, the latest, or up to half as many more."""
    decay: float = 0.2
    """What is kept of what other sources have counted when a plan is activated."""

    def __post_init__(self) -> None:
        """Check all settings; epsilon is settled here, and stays when workers change."""
        RingGrouping.__post_init__(self)
        if not isinstance(self.resources, Resources):
            raise InvalidTypeError(
                "resources",
                f"a {type(self.resources).__name__}",
                "pass unskew.partition.Resources(...)",
            )
        planner = self.planner
        self._settle("max_tracked", planner.max_tracked)
        self._settle("max_moves", planner.max_moves)
        if self.epsilon is None:
            finest = max(self.resources.delta(self.n_workers), 1 / self.max_tracked)
            self._settle("epsilon", finest / 10)
        self._settle("epsilon", check_share("epsilon", self.epsilon))
        self._settle("window", check_whole("window", self.window, 2, MAX_WINDOW))
        if self.window % 2:
            raise InvalidParameterError("window", self.window, "an even number of tuples")
        self._settle("decay", check_share("decay", self.decay))

    @property
    def planner(self) -> Planner:
        """How partitioning functions are made."""
        return Planner(
            self.resources, self.construction, self.utility, self.max_tracked, self.max_moves
        )

    @property
    def precision(self) -> float:
        """Epsilon, given or by default."""
        return self.epsilon or 0.0  # settled above, so never None

    @property
    def untracked(self) -> PartitionFunction:
        """The function that leaves all keys on the ring, drawn once in a process."""
        return consistent_function(
            self.n_workers, self.capacities, points=self.points, seed=self.seed
        )

    def _start(self, source: int) -> ExplicitRouter:  # noqa: ARG002 - every source routes alike
        return ExplicitRouter(self, self.untracked)


class ExplicitRouter(ElasticRouter):
    """The partitioning function, what this source has counted, and what it was told of others."""

    grouping: Explicit

    def __init__(self, grouping: Explicit, function: PartitionFunction) -> None:
        super().__init__(grouping, {})
        self._function = function
        self._sketch = SlidingLossyCounting(grouping.precision, grouping.window)
        self._observed = Counted.nothing()

    @property
    def function(self) -> PartitionFunction:
        """The partitioning function in use."""
        return self._function

    @property
    def counted(self) -> Counted:
        """What this source has counted of late, for `observe` of another router."""
        keys, counts, _ = self._sketch.tracked()
        return Counted(keys, counts, self._sketch.total)

    def observe(self, *, counted: Counted) -> None:
        """Take in what another source has counted."""
        if not isinstance(counted, Counted):
            raise InvalidTypeError(
                "counted", f"a {type(counted).__name__}", "pass the `counted` of another router"
            )
        both = Counted.together([self._observed, counted.checked()])
        # What lossy counting holds is what may be above epsilon; no more of it is kept here.
        self._observed = both.heaviest(int(1 / self.grouping.precision))

    def plan(self, n_workers: int | None = None, capacities: Sequence[float] | None = None) -> Plan:
        """Return the function to use next, by what was counted so far.

        It is for the workers that there are, or for others: what a resize would make.
        """
        n = self.grouping.n_workers if n_workers is None else n_workers
        return self._planned(self.grouping.resize(n, capacities))

    def activate(self, plan: Plan) -> Self:
        """Return a router that goes on with the function of a plan."""
        if not isinstance(plan, Plan):
            raise InvalidTypeError("plan", f"a {type(plan).__name__}", "pass what plan() returned")
        if plan.previous != self._function:
            raise InvalidInputError(
                "plan",
                "was made for another partitioning function",
                "plan anew with the router that is to activate it",
            )
        grouping = self.grouping.resize(plan.n_workers, plan.function.ring.capacities)
        return self._going_on(grouping, plan, self.grouping.decay)

    def snapshot(self) -> Snapshot:
        """Return the keys that have a worker of their own, and all counts."""
        sketch = {f"sketch.{name}": array for name, array in self._sketch.snapshot().items()}
        arrays = {name: array.copy() for name, array in self._arrays().items()} | sketch
        return Snapshot(self.grouping.spec.name, self.grouping.n_workers, arrays)

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take over the state of a snapshot; checked whole before anything is changed."""
        sketch = {
            name.removeprefix("sketch."): array
            for name, array in arrays.items()
            if name.startswith("sketch.")
        }
        own = {name: array for name, array in arrays.items() if not name.startswith("sketch.")}
        expected = self._arrays()
        check_arrays(own, expected, of_any_length=expected.keys() - {"observed.total"})
        keys, workers = own["keys"], own["workers"]
        told = Counted(own["observed.keys"], own["observed.counts"], own["observed.total"][0])
        try:
            told = told.checked()
            function = self.grouping.untracked
            if len(keys):
                function = PartitionFunction(function.ring, keys, workers)
        except (InvalidInputError, InvalidTypeError) as error:
            raise SnapshotMismatchError("state", error.message, "what a router wrote") from error
        self._sketch.load(sketch)
        self._function, self._observed = function, Counted.together([told])

    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        workers = self._function.lookup(hashes)
        self._sketch.update(hashes, weights if len(weights) else None)
        return workers

    def _resized(self, grouping: Explicit) -> Self:
        return self._going_on(grouping, self._planned(grouping), 1.0)

    def _planned(self, grouping: Explicit) -> Plan:
        together = Counted.together([self.counted, self._observed])
        return grouping.planner.plan(
            self._function,
            Frequencies.counted(together),
            grouping.n_workers,
            grouping.capacities,
            epsilon=grouping.precision,
        )

    def _going_on(self, grouping: Explicit, plan: Plan, kept: float) -> Self:
        other = type(self)(grouping, plan.function)
        other._sketch.load(self._sketch.snapshot())
        other._observed = self._observed.faded(kept)
        return other

    def _arrays(self) -> dict[str, AnyArray]:
        """Return the state but for the sketch's."""
        return {
            "keys": self._function.keys,
            "workers": self._function.workers,
            "observed.keys": self._observed.keys,
            "observed.counts": self._observed.counts,
            "observed.total": np.array([self._observed.total]),
        }
