"""Shuffle grouping (SG): the workers in turn, whatever the key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.grouping.base import Grouping, GroupingSpec, Router, Trait, first_turn
from unskew.typing import KeyHashes, Weights, Workers

_REPEATED = 4096


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
        return _ShuffleRouter(self, source)


class _ShuffleRouter(Router):
    def __init__(self, grouping: Grouping, source: int) -> None:
        super().__init__(grouping, {"dealt": np.zeros(1, np.int64)})
        self._first = first_turn(source, grouping.n_workers)

    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:  # noqa: ARG002 - no load
        n, tuples = self.grouping.n_workers, len(hashes)
        dealt = self._state["dealt"]
        # Some rounds of the workers, repeated: no division for every tuple.
        some = min(tuples, n * -(-_REPEATED // n))
        turns = (self._first + int(dealt[0]) % n + np.arange(some)) % n
        dealt[0] = (int(dealt[0]) + tuples) % n
        return np.tile(turns.astype(np.int32), -(-tuples // len(turns)))[:tuples]
