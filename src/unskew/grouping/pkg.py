"""Partial Key Grouping (PKG): two candidate workers per key, the less loaded one wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew._kernel import kernel
from unskew.grouping.base import Grouping, GroupingSpec, Router, Trait
from unskew.hashing.candidates import first_of, second_offset, worker_behind
from unskew.hashing.mix import salt_of, spread
from unskew.typing import KeyHashes, Loads, Weights, Workers


@kernel
def less_loaded(first: np.uint64, offset: np.uint64, n: np.uint64, loads: Loads) -> np.int64:
    """Return the less loaded of F_1 and F_2; a tie keeps F_1."""
    second = worker_behind(first, offset, n)
    return second if loads[second] < loads[np.int64(first)] else np.int64(first)


@kernel
def _route_pkg(
    hashes: KeyHashes, weights: Weights, salt: np.uint64, loads: Loads, out: Workers
) -> None:
    """Fill ``out`` and advance ``loads`` in arrival order; allocates nothing."""
    n = np.uint64(loads.shape[0])
    for i in range(hashes.shape[0]):
        mixed = spread(hashes[i], salt)
        chosen = less_loaded(first_of(mixed, n), second_offset(mixed, n), n, loads)
        loads[chosen] += weights[i] if weights.shape[0] else 1.0
        out[i] = chosen


@dataclass(frozen=True, slots=True)
class PartialKeyGrouping(Grouping):
    """Split each key over at most two workers, by locally estimated load [1]_.

    In 2CNE sec. II-B, CG sec. 4.1. Deviation: the two candidates are always distinct, and come
    from one mixed word; in [1]_ they are two murmur3 hashes that coincide with probability
    ``1 / n_workers``, which leaves a hot key on one worker.

    >>> router = PartialKeyGrouping(n_workers=4).build()
    >>> router.route(np.full(6, 42, dtype=np.uint64)).tolist()  # one hot key
    [2, 1, 2, 1, 2, 1]

    .. [1] Nasir et al., "The Power of Both Choices: Practical Load Balancing for
       Distributed Stream Processing Engines", ICDE 2015.
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec(
        "pkg", "2CNE II-B", Trait.SPLITS_KEYS | Trait.ORDER_DEPENDENT | Trait.COMPILED
    )

    @property
    def workers_per_key(self) -> int:
        """Two."""
        return 2

    def _start(self, source: int) -> Router:  # noqa: ARG002 - loads decide, from the first tuple on
        return _PkgRouter(self, {"loads": np.zeros(self.n_workers)})


class _PkgRouter(Router):
    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        out = np.empty(len(hashes), np.int32)
        _route_pkg(hashes, weights, salt_of(self.grouping.seed), self._state["loads"], out)
        return out
