"""Waterline: count a block of tuples first, then fill all workers to one level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from unskew.checks import check_share, check_whole
from unskew.errors import InvalidParameterError
from unskew.grouping.base import GroupingSpec, Trait
from unskew.grouping.elastic import ElasticGrouping, ElasticRouter
from unskew.grouping.waterline_block import MAX_BLOCK, Amounts, Block, count, deal
from unskew.grouping.waterline_plan import HEAD, Arcs, Plan, limits_of, loads_of
from unskew.grouping.waterline_stream import WaterlineStreamRouter
from unskew.grouping.waterline_tail import settle
from unskew.hashing.mix import GOLDEN, salt_of
from unskew.typing import KeyHashes, Weights, Workers

ROWS_PER_WORKER = 64
"""A block grows to this many tuples a worker; with fewer, one tuple is more than the tolerance."""
_SILVER = 0x6A09E667F3BCC909  # another irrational step than GOLDEN, for blocks beside sources
_FADE = 0.05


@dataclass(frozen=True, slots=True)
class Waterline(ElasticGrouping):
    """Shuffle's balance at nearly key grouping's memory, by looking ahead over a block.

    Not from a paper. A router that is handed whole batches need not decide a tuple by those before
    it: it counts a block, plans it, and then deals the tuples out. `waterline_plan` has the plan.

    In every block, of n workers with capacities that add up to 1:

    - a worker gets at most (1 + tolerance) * capacity of the block, or that share rounded up to
      whole tuples, whichever is more; with weights, and one tuple of each key that it shares;
    - the block has at most n - 1 replicas more than it has keys.

    Over many blocks and sources replicas stay few because nothing in a plan depends on more of the
    block than it must: head keys fill their candidates in a fixed order, tail keys leave full
    workers in the order of their hashes, and a worker within the tolerance gives up nothing. What a
    router remembers is how full each worker's own keys usually make it, a number for each worker.
    It remembers no key.

    With ``lookahead=0`` each tuple is decided as it comes, by a plan from the tuples before it; see
    `waterline_stream`, which compiles a kernel. The bounds above do not hold then.

    Routes are decided a block at a time, counted from the begin of each call of ``route``: see
    `unskew.grouping.base`.

    >>> router = Waterline(n_workers=4).build()
    >>> router.route(np.array([42] * 6 + [43, 44], np.uint64)).tolist()
    [2, 3, 0, 0, 1, 2, 1, 3]
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec(
        "waterline", "-", Trait.SPLITS_KEYS | Trait.ORDER_DEPENDENT | Trait.ELASTIC
    )
    lookahead: int = 1 << 16
    """Tuples of a block; more where workers are so many that each would get less than 64. 0 routes
    tuples one by one."""
    tolerance: float = 0.01
    """How far above the average a worker may be, as a share of the average."""

    def __post_init__(self) -> None:
        """Check the block and the tolerance."""
        ElasticGrouping.__post_init__(self)
        if self.n_workers > MAX_BLOCK:
            raise InvalidParameterError("n_workers", self.n_workers, f"at most {MAX_BLOCK}")
        self._settle("lookahead", check_whole("lookahead", self.lookahead, 0, MAX_BLOCK))
        self._settle("tolerance", check_share("tolerance", self.tolerance))

    @property
    def block(self) -> int:
        """How many tuples are decided together."""
        if self.lookahead == 0:
            return 1
        return min(MAX_BLOCK, max(self.lookahead, ROWS_PER_WORKER * self.n_workers))

    def _start(self, source: int) -> ElasticRouter:
        if self.lookahead == 0:
            return WaterlineStreamRouter(self, self.tolerance, source)
        return WaterlineRouter(self, source)


class WaterlineRouter(ElasticRouter):
    """Counts, plans and deals out one block after the other."""

    grouping: Waterline

    def __init__(self, grouping: Waterline, source: int) -> None:
        super().__init__(
            grouping,
            {
                # How much F_1 gives each worker, over the last blocks, and how much they had.
                "usual": np.zeros(grouping.n_workers),
                "faded": np.zeros(1),
                "blocks": np.zeros(1, np.int64),
            },
        )
        self._source = source
        self._salt = salt_of(grouping.seed)
        self._shares = grouping.shares
        even = grouping.capacities is None
        self._arcs = Arcs(None if even else self._shares, grouping.n_workers)

    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        size = self.grouping.block
        out = np.empty(len(hashes), np.int32)
        for at in range(0, len(hashes), size):
            cut = slice(at, at + size)
            out[cut] = self._route_block(hashes[cut], weights[cut])
        return out

    def _route_block(self, hashes: KeyHashes, weights: Weights) -> Workers:
        block = count(hashes, weights, self._salt)
        plan = self._planned(block, len(hashes))
        pieces = plan.pieces()
        return deal(block, plan.workers, pieces, weights)

    def _planned(self, block: Block, tuples: int) -> Plan:
        whole = float(block.amounts.sum())
        levels = whole * self._shares
        first = self._arcs.first(block.keys)
        unit = whole / tuples if whole else 1.0
        limits = limits_of(levels, self.grouping.tolerance, unit, self._phase())
        plan = Plan(block, first, limits)
        in_head = block.amounts > HEAD * levels[first]
        head = np.flatnonzero(in_head)
        n = len(levels)
        tail_loads = loads_of(first, np.where(in_head, 0.0, block.amounts), n)
        reserved = loads_of(first[head], np.minimum(block.amounts[head], levels[first[head]]), n)
        plan.room -= tail_loads
        usual = self._usual(tail_loads + reserved, whole, tuples)
        evicted = np.empty(0, np.int64)
        if plan.room.min() < 0:
            tail = np.flatnonzero(~in_head & (plan.room[first] < 0))
            depth = self._arcs.depth(block.keys[tail], first[tail])
            evicted = settle(plan, tail, depth, reserved, usual)
        plan.fill(head, evicted)
        return plan

    def _phase(self) -> float:
        """Return where rounding starts: another place for each source and each block."""
        turn = self._source * int(GOLDEN) + int(self._state["blocks"][0]) * _SILVER
        self._state["blocks"] += 1
        return float(turn >> 32 & 0xFFFFFFFF) / 2.0**32

    def _usual(self, loads: Amounts, whole: float, tuples: int) -> Amounts:
        """Take a block into the average, and return how full each worker usually is by F_1."""
        keep = 1 - _FADE * tuples / self.grouping.block
        for name, seen in (("usual", loads), ("faded", whole)):
            self._state[name] *= keep
            self._state[name] += seen
        return self._state["usual"] / np.maximum(self._state["faded"] * self._shares, 1e-300)

    def _resized(self, grouping: Any) -> Self:
        """Go on with other arcs, about which nothing is known yet."""
        router = type(self)(grouping, self._source)
        router._state["blocks"][:] = self._state["blocks"]
        return router
