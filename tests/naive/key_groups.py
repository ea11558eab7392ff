"""Key groups (Enorm 4.4.2): a hash function to groups, and a table from groups to workers."""

from __future__ import annotations

from collections.abc import Sequence

from .groupings import NaiveRouter
from .mix import candidates


class KeyGroups(NaiveRouter):
    """Send a key to the owner of its group; ``group_loads`` is what Flux plans from."""

    def __init__(self, n: int, groups: int, owners: Sequence[int], seed: int = 0) -> None:
        super().__init__(n)
        self.groups = groups
        self.owners = list(owners)
        self.seed = seed
        self.group_loads = [0.0] * groups

    def choose(self, h: int, weight: float, /) -> int:
        group = candidates(h, 1, self.seed, self.groups)[0]
        self.group_loads[group] += weight
        return self.owners[group]
