"""How good a partitioning function is over all keys: imbalance, migration, and both in one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.partition.frequencies import Frequencies
from unskew.partition.function import PartitionFunction
from unskew.partition.resources import RESOURCES, Resources


@dataclass(frozen=True, slots=True)
class Quality:
    """The measures of Gedik sec. 3.4. At most 1 is as good as asked, or ideal."""

    imbalances: dict[str, float]
    """Of each resource, the largest load over the smallest, over what is tolerated."""
    imbalance: float
    """The geometric mean of them, b of eq. 11."""
    migration: float
    """What moved, over a worker's fair share of the state, m of eq. 12."""

    @property
    def objective(self) -> float:
        """Return b (1 + m), eq. 13."""
        return self.imbalance * (1 + self.migration)


def quality(
    previous: PartitionFunction,
    function: PartitionFunction,
    frequencies: Frequencies,
    resources: Resources,
) -> Quality:
    """Measure a function, and the change to it, over the keys whose frequencies are given."""
    n = function.n_workers
    workers = function.lookup(frequencies.keys)
    speeds = np.ones(n) if function.ring.capacities is None else np.array(function.ring.capacities)
    costs = resources.costs(frequencies.shares)
    relative = {}
    for name, cost, alpha in zip(RESOURCES, costs, resources.alphas, strict=True):
        loads = np.bincount(workers, cost, n) / speeds
        relative[name] = float(loads.max() / loads.min() / alpha) if loads.min() else float("inf")
    state = costs[0]
    moved = float(state[workers != previous.lookup(frequencies.keys)].sum())
    mean = float(np.prod(list(relative.values())) ** (1 / len(relative)))
    return Quality(relative, mean, moved / (float(state.sum()) / n))
