"""Shuffle grouping (SG): the workers in turn, whatever the key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.grouping.base import Grouping, GroupingSpec, Router, Trait, first_turn
from unskew.typing import KeyHashes, Weights, Workers


@dataclass(frozen=True, slots=True)
class ShuffleGrouping(Grouping):
    """Deal tuples out round robin: perfect balance of tuples, every key on every worker.

    SG in 2CNE sec. II-B and CG sec. 4.1. Weights are not looked at: the scheme counts no load.

    >>> router = ShuffleGrouping(n_workers=3).build()
    >>> router.route(np.zeros(5, np.uint64)).tolist()
    [0, 1, 2, 0, 1]
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec(
        "shuffle", "2CNE II-B", Trait.SPLITS_KEYS | Trait.ORDER_DEPENDENT
    )

    def _start(self, source: int) -> Router:
        turn = np.array([first_turn(source, self.n_workers)], np.int64)
        return _ShuffleRouter(self, {"turn": turn})


class _ShuffleRouter(Router):
    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:  # noqa: ARG002 - no load
        n = self.grouping.n_workers
        turn = self._state["turn"]
        # A round of all workers, repeated: no division for every tuple.
        rounds = -(-len(hashes) // n)
        dealt = np.tile(np.roll(np.arange(n, dtype=np.int32), -turn[0]), rounds)[: len(hashes)]
        turn[0] = (turn[0] + len(hashes)) % n
        return dealt
