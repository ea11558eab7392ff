"""Power of two choices (PoTC): two random workers per tuple, the less loaded one wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.grouping.base import Grouping, GroupingSpec, Router, Trait
from unskew.grouping.pkg import less_loaded
from unskew.hashing.candidates import first_of, second_offset
from unskew.hashing.mix import salt_of, spread
from unskew.typing import AnyArray, KeyHashes, Loads, Weights, Workers


@kernel
def _route_two_choices(
    weights: Weights,
    salt: np.uint64,
    source_salt: np.uint64,
    loads: Loads,
    position: npt.NDArray[np.uint64],
    out: Workers,
) -> None:
    n = np.uint64(loads.shape[0])
    for i in range(out.shape[0]):
        mixed = spread(spread(position[0], source_salt), salt)
        chosen = less_loaded(first_of(mixed, n), second_offset(mixed, n), n, loads)
        loads[chosen] += weights[i] if weights.shape[0] else 1.0
        position[0] += np.uint64(1)
        out[i] = chosen


@dataclass(frozen=True, slots=True)
class TwoChoices(Grouping):
    """Send each tuple to the less loaded of two workers drawn for it, whatever its key.

    PoTC in CG sec. 4.3 and 6.1.1, after Azar et al. The random numbers are hashes of the tuple's
    position, as CG suggests: the same tuples draw the same workers on every run. Deviation: the
    two workers are distinct.

    >>> router = TwoChoices(n_workers=4).build()
    >>> router.route(np.full(6, 42, dtype=np.uint64)).tolist()
    [0, 1, 3, 3, 2, 0]
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec(
        "two-choices", "CG 4.3", Trait.SPLITS_KEYS | Trait.ORDER_DEPENDENT | Trait.COMPILED
    )

    def _start(self, source: int) -> Router:
        state: dict[str, AnyArray] = {
            "loads": np.zeros(self.n_workers),
            "position": np.zeros(1, np.uint64),
        }
        return _TwoChoicesRouter(self, state, salt_of(source))


class _TwoChoicesRouter(Router):
    def __init__(
        self, grouping: Grouping, state: dict[str, AnyArray], source_salt: np.uint64
    ) -> None:
        super().__init__(grouping, state)
        self._source_salt = source_salt

    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        out = np.empty(len(hashes), np.int32)
        loads, position = self._state["loads"], self._state["position"]
        salt = salt_of(self.grouping.seed)
        _route_two_choices(weights, salt, self._source_salt, loads, position, out)
        return out
