"""Key grouping (KG): a key's tuples all go to the worker its hash names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.grouping.base import Grouping, GroupingSpec, Router, Trait
from unskew.hashing import candidate
from unskew.typing import KeyHashes, Weights, Workers


@dataclass(frozen=True, slots=True)
class KeyGrouping(Grouping):
    """Send each key to its first candidate; no state, no split, as unbalanced as the data.

    KG in 2CNE sec. II-B and CG sec. 4.1; FG in FISH; the uniform hash of Gedik.

    >>> import numpy as np
    >>> router = KeyGrouping(n_workers=4).build()
    >>> router.route(np.array([42, 43, 42], np.uint64)).tolist()
    [2, 1, 2]
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec("key", "2CNE II-B", Trait.NONE)

    def _start(self, source: int) -> Router:  # noqa: ARG002 - every source routes alike
        return _KeyRouter(self, {})


class _KeyRouter(Router):
    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:  # noqa: ARG002 - no load
        return candidate(hashes, 0, self.grouping.seed, self.grouping.n_workers)
