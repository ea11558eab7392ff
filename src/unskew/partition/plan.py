"""From frequencies to the next partitioning function, and what it makes move.

Gedik sec. 4.2: the function in use and the frequencies of late give the function to use next, for
the same number of workers, for more or for fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.checks import check_capacities, check_whole
from unskew.errors import InvalidInputError
from unskew.hashing.candidates import MAX_WORKERS
from unskew.hashing.ring import Ring, shared_ring
from unskew.partition.construct import check_construction, construct
from unskew.partition.frequencies import Frequencies
from unskew.partition.function import PartitionFunction
from unskew.partition.penalties import Assignment, utility_number
from unskew.partition.resources import Resources
from unskew.typing import KeyHashes, Loads, Workers

MAX_TRACKED = 2**20


class KeyMove(NamedTuple):
    """A key that goes from one worker to another, and what it costs to move its state."""

    key: int
    origin: int
    destination: int
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class Migration:
    """Keys that change their worker, and what each costs to move, the heaviest first."""

    keys: KeyHashes
    origins: Workers
    destinations: Workers
    costs: Loads

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"Migration({len(self)} keys, cost {self.total:.4g})"

    @property
    def total(self) -> float:
        """What all of it costs."""
        return float(self.costs.sum())

    def moves(self) -> tuple[KeyMove, ...]:
        """Return the moves one by one."""
        columns = (self.keys, self.origins, self.destinations, self.costs)
        return tuple(map(KeyMove, *(column.tolist() for column in columns)))


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The function to use next, and what it was made from."""

    function: PartitionFunction
    previous: PartitionFunction
    frequencies: Frequencies
    resources: Resources
    delta: float
    """The share from which on keys are tracked."""

    def __repr__(self) -> str:
        return f"Plan({self.function}, {len(self.migration(self.previous))} keys move)"

    @property
    def n_workers(self) -> int:
        """The number of workers it is for."""
        return self.function.n_workers

    @property
    def moves(self) -> tuple[KeyMove, ...]:
        """The keys that move when the plan takes the place of the function it was made from."""
        return self.migration(self.previous).moves()

    def migration(self, previous: PartitionFunction) -> Migration:
        """Return the keys that move, of those whose frequency is known or that were tracked."""
        unknown = np.setdiff1d(previous.keys, self.frequencies.keys)
        keys = np.concatenate([self.frequencies.keys, unknown])
        shares = np.concatenate([self.frequencies.shares, np.zeros(len(unknown))])
        origins, destinations = previous.lookup(keys), self.function.lookup(keys)
        moves = origins != destinations
        costs = self.resources.state_costs(shares[moves])
        return Migration(keys[moves], origins[moves], destinations[moves], costs)


@dataclass(frozen=True, slots=True)
class Planner:
    """How partitioning functions are made.

    >>> from unskew.partition import Frequencies, consistent_function
    >>> keys = np.arange(8, dtype=np.uint64)
    >>> frequencies = Frequencies(keys, np.array([5, 3, 2, 1, 4, 3, 3, 1]) / 22)  # fig. 1
    >>> plan = Planner().plan(consistent_function(2), frequencies)
    >>> np.bincount(plan.function.lookup(keys), frequencies.of(keys) * 22)
    array([11., 11.])
    """

    resources: Resources = field(default_factory=Resources)
    construction: str = "readj"
    """scan, redist or readj."""
    utility: str = "apm"
    """a, apm, aplm, atm or atlm: what weighs balance against migration (sec. 4.3)."""
    max_tracked: int = 1000
    """The most keys that are tracked; the heaviest, where more reach delta."""
    max_moves: int = 5
    """How often readj may move a key, c in sec. 4.2.4; anew for each worker that is added."""

    def __post_init__(self) -> None:
        """Check all settings."""
        check_construction(self.construction)
        utility_number(self.utility)
        for name, high in (("max_tracked", MAX_TRACKED), ("max_moves", 2**31)):
            object.__setattr__(self, name, check_whole(name, getattr(self, name), 1, high))

    def plan(
        self,
        previous: PartitionFunction,
        frequencies: Frequencies,
        n_workers: int | None = None,
        capacities: Sequence[float] | None = None,
        *,
        epsilon: float = 0.0,
    ) -> Plan:
        """Return the function to use next, for as many workers as now or another number.

        ``epsilon`` is by how much a share may be too low, as lossy counting counts it. Where no
        frequency is known, only the keys move whose worker is gone, or that the ring moves.
        """
        ring = _next_ring(previous, n_workers, capacities)
        n = len(ring.workers)
        delta = self._delta(frequencies, n)
        if not len(frequencies):
            return Plan(previous.carried_to(ring), previous, frequencies, self.resources, delta)
        # A share below epsilon may be that of any key; lossy counting finds all from delta on.
        reached = frequencies.shares >= max(delta - epsilon, epsilon, np.finfo(float).tiny)
        tracked = min(int(reached.sum()), self.max_tracked)
        if n == 1 or not tracked:
            keys, mapped = frequencies.keys[:0], np.empty(0, np.int64)
        else:
            keys = frequencies.keys[:tracked]
            mapped = self._mapped(previous, ring, frequencies, tracked)
        function = PartitionFunction(ring, keys, mapped)
        return Plan(function, previous, frequencies, self.resources, delta)

    def _delta(self, frequencies: Frequencies, n: int) -> float:
        """Return the share from which on a key is tracked; both steps of sec. 4.1.3."""
        delta = self.resources.delta(n)
        first = frequencies.shares[frequencies.shares >= delta]
        return max(delta, self.resources.delta(n, first))

    def _mapped(
        self, previous: PartitionFunction, ring: Ring, frequencies: Frequencies, tracked: int
    ) -> npt.NDArray[np.int64]:
        speeds = (
            np.ones(len(ring.workers)) if ring.capacities is None else np.array(ring.capacities)
        )
        return construct(
            self.construction,
            self.utility,
            self.max_moves,
            self.resources,
            _assignment(previous, ring, frequencies, tracked, self.resources),
            previous.n_workers,
            speeds,
        )


def _next_ring(
    previous: PartitionFunction, n_workers: int | None, capacities: Sequence[float] | None
) -> Ring:
    """Return the ring of the next function: with other workers, or speeds, where some are given."""
    ring = previous.ring
    n = (
        len(ring.workers)
        if n_workers is None
        else check_whole("n_workers", n_workers, 1, MAX_WORKERS)
    )
    if capacities is None and ring.capacities is not None:
        if n > len(ring.workers):
            raise InvalidInputError(
                "capacities",
                f"are known for {len(ring.workers)} workers only",
                f"pass those of all {n}",
            )
        capacities = ring.capacities[:n]
    return shared_ring(n, check_capacities(capacities, n), ring.points, ring.seed)


def _assignment(
    previous: PartitionFunction,
    ring: Ring,
    frequencies: Frequencies,
    tracked: int,
    resources: Resources,
) -> Assignment:
    """Return the keys to map; the two sums of eq. 18 are over D_o and over D_a.

    Alg. 2 and 3 write both over the keys tracked next, Alg. 4 the second over those that are new.
    """
    keys, shares = frequencies.keys[:tracked], frequencies.shares[:tracked]
    dropped = np.setdiff1d(previous.keys, keys)
    moving, moving_dropped = (
        resources.state_costs(each) for each in (shares, frequencies.of(dropped))
    )
    moved = previous.lookup(dropped) != ring.lookup(dropped)
    return Assignment(
        shares=shares,
        old=previous.lookup(keys).astype(np.int64),
        fallback=ring.lookup(keys).astype(np.int64),
        moving=moving,
        spent=float(moving_dropped[moved].sum()),
        state=float(moving.sum() + moving_dropped.sum()),
    )
