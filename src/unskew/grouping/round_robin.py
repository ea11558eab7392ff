"""Round-Robin: the head dealt out to all workers in turn, the tail on one of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.grouping.base import GroupingSpec, Router, Trait
from unskew.grouping.head import HeadGrouping, HeadRouter, in_head, turned_back, turned_first
from unskew.grouping.pkg import less_loaded
from unskew.hashing.candidates import second_offset
from unskew.hashing.mix import spread
from unskew.sketch.space_saving import Summary, count_tuple
from unskew.typing import AnyArray, KeyHashes, Loads, Weights, Workers


@kernel
def _route_round_robin(
    hashes: KeyHashes,
    weights: Weights,
    salt: np.uint64,
    theta: float,
    turn: np.uint64,
    summary: Summary,
    loads: Loads,
    next_turn: npt.NDArray[np.int64],
    out: Workers,
) -> None:
    n = np.uint64(loads.shape[0])
    for i in range(hashes.shape[0]):
        weight = weights[i] if weights.shape[0] else 1.0
        slot = count_tuple(summary, hashes[i], weight)
        if in_head(summary, slot, theta):
            chosen = next_turn[0]
            next_turn[0] = chosen + 1 if chosen + 1 < loads.shape[0] else 0
        else:
            mixed = spread(hashes[i], salt)
            chosen = less_loaded(turned_first(mixed, n, turn), second_offset(mixed, n), n, loads)
        loads[chosen] += weight
        out[i] = turned_back(chosen, n, turn)


@dataclass(frozen=True, slots=True)
class RoundRobin(HeadGrouping):
    """Deal the head out in turn, whatever the loads (the baseline of 2CNE sec. III-B).

    It has the memory of W-Choices without looking at loads for the head, so the tail's imbalance
    stays.

    >>> router = RoundRobin(n_workers=4).build()
    >>> router.route(np.full(6, 42, dtype=np.uint64)).tolist()  # one hot key
    [0, 1, 2, 3, 0, 1]
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec(
        "round-robin", "2CNE III-B", Trait.SPLITS_KEYS | Trait.ORDER_DEPENDENT | Trait.COMPILED
    )

    def _start(self, source: int) -> Router:
        return _RoundRobinRouter(self, source, {"next_turn": np.zeros(1, np.int64)})


class _RoundRobinRouter(HeadRouter):
    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take over the state of a snapshot; a turn is one of the workers'."""
        super().restore(arrays)
        self._state["next_turn"] %= self.grouping.n_workers

    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        out = np.empty(len(hashes), np.int32)
        _route_round_robin(
            hashes,
            weights,
            self.salt,
            self.theta,
            np.uint64(self.turn),
            self.sketch.summary,
            self.loads,
            self._state["next_turn"],
            out,
        )
        return out
