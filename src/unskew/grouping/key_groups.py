"""Key groups: a key hashes to a group, groups belong to workers and move between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from unskew.checks import check_number, check_whole
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    SnapshotMismatchError,
)
from unskew.grouping.apportion import apportion
from unskew.grouping.base import GroupingSpec, Router, Trait
from unskew.grouping.elastic import ElasticGrouping, ElasticRouter
from unskew.hashing.arrays import MAX_WEIGHT, as_readonly, check_arrays
from unskew.hashing.candidates import candidate
from unskew.partition.flux import FluxPlan, flux
from unskew.typing import AnyArray, KeyHashes, Loads, Weights, Workers

GROUPS_PER_WORKER = 16
MAX_GROUPS = 2**24


@dataclass(frozen=True, slots=True)
class KeyGroups(ElasticGrouping):
    """Send each key to the worker that owns its key group, and level the workers by moving groups.

    Enorm sec. 4.4.2. No key is split; a group that moves takes all its keys along, at once. Until
    something moves, the scheme routes as `key` does, where workers are alike and have as many
    groups each.

    Each router counts the load of every group and never moves one by itself: ``router.plan()``
    lists the moves that Flux would make (`unskew.partition.flux`), and ``router.activate(plan)``
    returns a router that has made them. The driver does both, having added up the counts of all
    sources with ``observe(loads=...)``, and all sources go on from the snapshot of that router
    together: a source that moved a group alone would split its keys.

    Deviations. Flux works on the loads since it last ran, Enorm says; here counts fade by ``decay``
    when a plan is activated, so that a group that was not seen for one period is not taken for
    empty. Resizing moves groups by Flux as well, and by their number where nothing has been counted
    yet.

    >>> router = KeyGroups(n_workers=2, groups=4).build()
    >>> keys = np.array([1, 1, 1, 3, 3, 4], np.uint64)
    >>> router.route(keys).tolist()
    [0, 0, 0, 0, 0, 1]
    >>> plan = router.plan()
    >>> plan.moves
    (Move(group=1, origin=0, destination=1), Move(group=2, origin=1, destination=0))
    >>> router.activate(plan).route(keys).tolist()
    [1, 1, 1, 0, 0, 0]
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec("key-groups", "Enorm 4.4", Trait.ELASTIC)
    groups: int | None = None
    """How many key groups there are, whatever workers come and go; 16 n_workers if None."""
    decay: float = 0.2
    """What counts keep of themselves when a plan is activated; 0 as in Enorm."""

    def __post_init__(self) -> None:
        """Check the groups; their number is settled here, and stays when workers change."""
        ElasticGrouping.__post_init__(self)
        groups = GROUPS_PER_WORKER * self.n_workers if self.groups is None else self.groups
        self._settle("groups", check_whole("groups", groups, 1, MAX_GROUPS))
        self._settle("decay", check_number("decay", self.decay, 0, 1))
        if self.n_groups < self.n_workers:
            raise InvalidParameterError(
                "groups", groups, f"at least {self.n_workers}, one for each worker"
            )

    @property
    def n_groups(self) -> int:
        """The number of key groups."""
        return self.groups or 0  # settled above, so never None

    def _start(self, source: int) -> Router:  # noqa: ARG002 - every source routes alike
        counts = apportion(self.n_groups, self.shares)
        # In blocks, so that a group's worker is the one that the same hash gives in `key`.
        return KeyGroupRouter(self, np.repeat(np.arange(self.n_workers, dtype=np.int32), counts))


class KeyGroupRouter(ElasticRouter):
    """The owner of each key group, and the load it has had."""

    grouping: KeyGroups

    def __init__(self, grouping: KeyGroups, owners: Workers) -> None:
        super().__init__(grouping, {"owners": owners, "loads": np.zeros(len(owners))})

    @property
    def owners(self) -> Workers:
        """The worker of each key group."""
        return as_readonly(self._state["owners"])

    @property
    def loads(self) -> Loads:
        """The load of each key group, as counted here and observed."""
        return as_readonly(self._state["loads"])

    def observe(self, *, loads: Any) -> None:
        """Add the loads of key groups that other sources have counted."""
        if not isinstance(loads, np.ndarray) or loads.dtype.kind not in "iuf":
            raise InvalidTypeError("loads", f"a {type(loads).__name__}", "pass an array of numbers")
        if loads.shape != self.loads.shape:
            raise InvalidInputError(
                "loads",
                f"has the shape {loads.shape}",
                f"pass one for each of {len(self.loads)} key groups",
            )
        wrong = np.flatnonzero(~((loads >= 0) & (loads <= MAX_WEIGHT)))
        if wrong.size:
            raise InvalidInputError(
                "loads",
                f"is {loads[wrong[0]]} for key group {wrong[0]}",
                f"pass numbers from 0 to {MAX_WEIGHT:g}",
            )
        self._state["loads"] += loads

    def plan(self) -> FluxPlan:
        """Return the moves that would level the workers, by the loads counted so far."""
        return flux(self.loads, self.owners, self.grouping.n_workers, self.grouping.capacities)

    def activate(self, plan: FluxPlan) -> Self:
        """Return a router that goes on with the owners of a plan."""
        if not isinstance(plan, FluxPlan):
            raise InvalidTypeError("plan", f"a {type(plan).__name__}", "pass what plan() returned")
        before = plan.owners.copy()
        for move in plan.moves:
            before[move.group] = move.origin
        if plan.n_workers != self.grouping.n_workers or not np.array_equal(before, self.owners):
            raise InvalidInputError(
                "plan",
                "was made for other owners of the key groups",
                "plan anew with the router that is to activate it",
            )
        other = type(self)(self.grouping, plan.owners.copy())
        other._state["loads"] += self.loads * self.grouping.decay
        return other

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take over the state of a snapshot; checked whole before anything is changed."""
        check_arrays(arrays, self._state)
        if arrays["owners"].max() >= self.grouping.n_workers:
            raise SnapshotMismatchError(
                "largest owner", int(arrays["owners"].max()), self.grouping.n_workers - 1
            )
        super().restore(arrays)

    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        groups = candidate(hashes, 0, self.grouping.seed, self.grouping.n_groups)
        loads = self._state["loads"]
        if len(weights):
            np.add.at(loads, groups, weights)  # one by one, so that cutting batches changes no bit
        else:
            loads += np.bincount(groups, minlength=len(loads))
        return self._state["owners"][groups]

    def _resized(self, grouping: KeyGroups) -> Self:
        loads = self.loads if self.loads.any() else np.ones(len(self.loads))
        plan = flux(loads, self.owners, grouping.n_workers, grouping.capacities)
        other = type(self)(grouping, plan.owners.copy())
        other._state["loads"] += self.loads
        return other
