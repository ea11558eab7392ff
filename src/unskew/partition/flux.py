"""Flux: level the loads of workers by moving key groups, the most and the least loaded in pairs.

Shah et al., "Flux: an adaptive partitioning operator for continuous query systems", ICDE 2003, as
Enorm describes it (sec. 3.2) and uses it for key groups (sec. 4.4.2): sort the workers by load; the
first gives the largest suitable group to the last, the second to the second last, and so on. A
group is suitable if the variance of the loads falls when it moves.

What Enorm leaves open:

- Rounds of sorting and pairing follow one another until one moves nothing.
- In one plan a group moves at most once, so while it moves its state is on two workers and never on
  three. A plan therefore ends after at most as many moves as there are groups; what a further move
  of the same group could gain is left to the next plan.
- Workers that differ are compared by utilisation, load / capacity, and the variance is weighted by
  capacity: then a move from a to b lowers it if the group's load is below
  2 (u_a - u_b) / (1 / c_a + 1 / c_b), which for equal workers is the difference of their loads.
- Groups of workers that are no more move first, the largest first, each to the worker that has the
  lowest utilisation with it. Workers that are new start with nothing, and are last in the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.checks import check_capacities, check_whole
from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.hashing.arrays import MAX_WEIGHT, as_readonly
from unskew.hashing.candidates import MAX_WORKERS
from unskew.typing import Loads, Workers

Groups = npt.NDArray[np.int64]
# A gain of less than this share of a difference is no gain, but rounding.
_CLEARLY = 1 - 1e-9


class Move(NamedTuple):
    """A key group that goes from one worker to another."""

    group: int
    origin: int
    destination: int


@dataclass(frozen=True, slots=True, eq=False)
class FluxPlan:
    """Which key groups move, in order, and who owns each of them then."""

    n_workers: int
    moves: tuple[Move, ...]
    owners: Workers

    def __repr__(self) -> str:
        return f"FluxPlan({len(self.moves)} of {len(self.owners)} groups move)"


def flux(
    loads: Loads,
    owners: Workers,
    n_workers: int,
    capacities: Sequence[float] | None = None,
) -> FluxPlan:
    """Plan which key groups move so that ``n_workers`` workers are loaded as they are able.

    ``loads`` and ``owners`` have the load and the worker of each key group. A group whose owner is
    not below ``n_workers`` must move.

    >>> plan = flux(np.array([5.0, 3.0, 1.0, 1.0]), np.array([0, 0, 0, 1]), n_workers=2)
    >>> plan.moves
    (Move(group=0, origin=0, destination=1), Move(group=3, origin=1, destination=0))
    >>> plan.owners.tolist()
    [1, 0, 0, 0]
    """
    n = check_whole("n_workers", n_workers, 1, MAX_WORKERS)
    speeds = np.array(check_capacities(capacities, n) or (1.0,) * n)
    costs = _as_loads(loads)
    before = _as_owners(owners, len(costs))
    after = before.copy()
    # Heaviest first, within each worker and among those that must move.
    by_load = np.argsort(-costs, kind="stable")
    stay = by_load[before[by_load] < n]
    homeless = by_load[before[by_load] >= n]
    totals = np.bincount(before[stay], costs[stay], n).astype(np.float64)
    _house(homeless, costs, speeds, totals, after)

    moved = list(homeless)
    held = stay[np.argsort(before[stay], kind="stable")]
    first = np.searchsorted(before[held], np.arange(n + 1))
    given = np.empty(n // 2, np.int64)
    while True:
        order = np.argsort(-totals / speeds, kind="stable")
        count = _exchange(order, held, first, costs, speeds, totals, after, given)
        if count == 0:
            break
        moved += list(given[:count])
    moves = tuple(Move(int(group), int(before[group]), int(after[group])) for group in moved)
    return FluxPlan(n, moves, as_readonly(after))


@kernel
def _house(homeless: Groups, costs: Loads, speeds: Loads, totals: Loads, after: Workers) -> None:
    """Give each group that must move to the worker that is least utilised with it."""
    for group in homeless:
        best = 0
        for worker in range(1, totals.shape[0]):
            with_it = (totals[worker] + costs[group]) / speeds[worker]
            if with_it < (totals[best] + costs[group]) / speeds[best]:
                best = worker
        totals[best] += costs[group]
        after[group] = best


@kernel
def _exchange(
    order: Groups,
    held: Groups,
    first: Groups,
    costs: Loads,
    speeds: Loads,
    totals: Loads,
    after: Workers,
    given: Groups,
) -> int:
    """Move one group for each pair of workers where one is suitable; returns how many moved.

    ``held`` lists the groups that each worker had at the start, ``first`` where its list begins.
    """
    n, count = order.shape[0], 0
    for rank in range(n // 2):
        giver, taker = order[rank], order[n - 1 - rank]
        apart = totals[giver] / speeds[giver] - totals[taker] / speeds[taker]
        room = _CLEARLY * 2 * apart / (1 / speeds[giver] + 1 / speeds[taker])
        for at in range(first[giver], first[giver + 1]):
            group = held[at]
            if after[group] == giver and 0 < costs[group] < room:
                after[group] = taker
                totals[giver] -= costs[group]
                totals[taker] += costs[group]
                given[count] = group
                count += 1
                break
    return count


def _as_loads(loads: Any) -> Loads:
    if not isinstance(loads, np.ndarray) or loads.dtype.kind not in "iuf" or loads.ndim != 1:
        raise InvalidTypeError("loads", _described(loads), "pass a 1-D array of numbers")
    wrong = np.flatnonzero(~((loads >= 0) & (loads <= MAX_WEIGHT)))
    if wrong.size:
        raise InvalidInputError(
            "loads",
            f"is {loads[wrong[0]]} for group {wrong[0]}",
            f"pass numbers from 0 to {MAX_WEIGHT:g}",
        )
    return loads.astype(np.float64)


def _as_owners(owners: Any, groups: int) -> Workers:
    if not isinstance(owners, np.ndarray) or owners.dtype.kind not in "iu" or owners.ndim != 1:
        raise InvalidTypeError("owners", _described(owners), "pass a 1-D array of workers")
    if len(owners) != groups:
        raise InvalidInputError(
            "owners", f"has {len(owners)} values for {groups} groups", "pass one for each group"
        )
    wrong = np.flatnonzero((owners < 0) | (owners > MAX_WORKERS))
    if wrong.size:
        raise InvalidInputError(
            "owners",
            f"is {owners[wrong[0]]} for group {wrong[0]}",
            f"pass workers from 0 to {MAX_WORKERS}",
        )
    return owners.astype(np.int32)


def _described(values: Any) -> str:
    if isinstance(values, np.ndarray):
        return f"a {values.ndim}-D array of {values.dtype}"
    return f"a {type(values).__name__}"
