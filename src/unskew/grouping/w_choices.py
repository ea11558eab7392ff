"""W-Choices: the head on the least loaded of all workers, the tail on one of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew._kernel import kernel
from unskew.grouping.base import GroupingSpec, Router, Trait
from unskew.grouping.head import HeadGrouping, HeadRouter, in_head, turned_back, turned_first
from unskew.grouping.pkg import less_loaded
from unskew.hashing.candidates import second_offset
from unskew.hashing.mix import spread
from unskew.sketch.least import Order, heed, least
from unskew.sketch.space_saving import Summary, count_tuple
from unskew.typing import KeyHashes, Loads, Weights, Workers


@kernel
def _route_w_choices(
    hashes: KeyHashes,
    weights: Weights,
    salt: np.uint64,
    theta: float,
    turn: np.uint64,
    summary: Summary,
    loads: Loads,
    order: Order,
    out: Workers,
) -> None:
    n = np.uint64(loads.shape[0])
    for i in range(hashes.shape[0]):
        weight = weights[i] if weights.shape[0] else 1.0
        slot = count_tuple(summary, hashes[i], weight)
        heed(weight, loads, order)
        if in_head(summary, slot, theta):
            chosen = least(loads, order)
        else:
            mixed = spread(hashes[i], salt)
            chosen = less_loaded(turned_first(mixed, n, turn), second_offset(mixed, n), n, loads)
        loads[chosen] += weight
        out[i] = turned_back(chosen, n, turn)


@dataclass(frozen=True, slots=True)
class WChoices(HeadGrouping):
    """Let the keys of the head go to whichever worker is least loaded (2CNE sec. III-B, Alg. 1).

    The least loaded worker is found in O(1) amortized, O(log n) with weights, not by a scan.

    >>> router = WChoices(n_workers=4).build()
    >>> router.route(np.full(6, 42, dtype=np.uint64)).tolist()  # one hot key
    [0, 1, 2, 3, 0, 1]
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec(
        "w-choices", "2CNE III-B", Trait.SPLITS_KEYS | Trait.ORDER_DEPENDENT | Trait.COMPILED
    )

    def _start(self, source: int) -> Router:
        return _WChoicesRouter(self, source, {})


class _WChoicesRouter(HeadRouter):
    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        out = np.empty(len(hashes), np.int32)
        _route_w_choices(
            hashes,
            weights,
            self.salt,
            self.theta,
            np.uint64(self.turn),
            self.sketch.summary,
            self.loads,
            self.order,
            out,
        )
        return out
