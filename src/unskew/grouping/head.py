"""What the head-and-tail schemes of 2CNE share: who is in the head, and the router's state.

2CNE sec. III-A: the head is the set of keys with a share of at least theta of the tuples, found
by SpaceSaving on each source; every other key is tail, and goes to the less loaded of its two
candidates as in PKG.

The summary has 2 / theta counters. So every key above theta is in the head, and none below
theta / 2: with the bare 1 / theta the least counter would itself reach theta, and on a stream
without much skew every key would count as head and be spread over all workers.

Loads are kept turned by the source's first worker, so that among equally loaded workers each
source begins with another one; ``loads`` of a snapshot are in plain order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from unskew._kernel import inlined
from unskew.checks import check_share, check_whole
from unskew.errors import InvalidParameterError
from unskew.grouping.base import Grouping, Router, first_turn
from unskew.grouping.snapshot import Snapshot
from unskew.hashing.arrays import check_arrays
from unskew.hashing.candidates import first_of
from unskew.hashing.mix import salt_of
from unskew.sketch.least import new_order, renew
from unskew.sketch.space_saving import MAX_CAPACITY, SpaceSaving, Summary
from unskew.typing import AnyArray


@inlined
def in_head(summary: Summary, slot: np.int64, theta: float) -> bool:
    """Tell whether the key of a slot is in the head."""
    return bool(slot >= 0 and summary.counts[slot] >= theta * summary.total[0])


@inlined
def turned_first(mixed: np.uint64, n: np.uint64, turn: np.uint64) -> np.uint64:
    """Return F_1 as an index into loads that are turned by ``turn``."""
    first = first_of(mixed, n)
    return first - turn if first >= turn else first + n - turn


@inlined
def turned_back(index: np.int64, n: np.uint64, turn: np.uint64) -> np.int64:
    """Return the worker of an index into turned loads."""
    worker = np.uint64(index) + turn
    return np.int64(worker - n if worker >= n else worker)


@dataclass(frozen=True, slots=True)
class HeadGrouping(Grouping):
    """A scheme that treats the head of the keys differently from the tail."""

    theta: float | None = None
    """A key is in the head from this share of the tuples on; 1 / (5 n_workers) if None."""
    capacity: int | None = None
    """Counters to find the head with; 2 / theta if None."""

    def __post_init__(self) -> None:
        """Check theta and that the counters suffice for it."""
        Grouping.__post_init__(self)
        if self.theta is not None:
            self._settle("theta", check_share("theta", self.theta))
        if self.capacity is None:
            if 2 / self.threshold > MAX_CAPACITY:
                raise InvalidParameterError(
                    "theta",
                    self.threshold,
                    f"at least {2 / MAX_CAPACITY:.1e}, for which {MAX_CAPACITY} counters suffice",
                )
        else:
            self._settle("capacity", check_whole("capacity", self.capacity, 1, MAX_CAPACITY))
            if self.capacity * self.threshold < 1:
                raise InvalidParameterError(
                    "capacity",
                    self.capacity,
                    f"at least 1 / theta = {math.ceil(1 / self.threshold)} counters, "
                    "or keys of the head are missed",
                )

    @property
    def threshold(self) -> float:
        """Theta, given or by default."""
        return 1 / (5 * self.n_workers) if self.theta is None else self.theta

    @property
    def counters(self) -> int:
        """The number of counters, given or by default."""
        return math.ceil(2 / self.threshold) if self.capacity is None else self.capacity


class HeadRouter(Router):
    """Loads, a SpaceSaving summary, and what a scheme adds in ``extra``."""

    def __init__(self, grouping: HeadGrouping, source: int, extra: dict[str, AnyArray]) -> None:
        self.turn = first_turn(source, grouping.n_workers)
        self.loads = np.zeros(grouping.n_workers)
        self.order = new_order(grouping.n_workers)
        self.sketch = SpaceSaving(grouping.counters)
        self.salt = salt_of(grouping.seed)
        self.theta = grouping.threshold
        super().__init__(grouping, extra)

    def snapshot(self) -> Snapshot:
        """Return loads in plain order, the counters, and what the scheme adds."""
        arrays = Router.snapshot(self).arrays
        arrays["loads"] = np.roll(self.loads, self.turn)
        arrays |= {f"sketch.{name}": array for name, array in self.sketch.snapshot().items()}
        return Snapshot(self.grouping.spec.name, self.grouping.n_workers, arrays)

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take over the state of a snapshot; checked whole before anything is changed."""
        sketch = {
            name.removeprefix("sketch."): array
            for name, array in arrays.items()
            if name.startswith("sketch.")
        }
        own = {name: array for name, array in arrays.items() if not name.startswith("sketch.")}
        check_arrays(own, self._state | {"loads": self.loads})
        self.sketch.load(sketch)
        self.loads[:] = np.roll(arrays["loads"], -self.turn)
        for name, array in self._state.items():
            array[:] = arrays[name]
        renew(self.order, self.loads)
