"""Waterline tuple by tuple: the plan of the next epoch from the counts of the last ones.

For a source that must answer each tuple at once. A sketch whose counts fade from epoch to epoch
says how hot the head keys have been, and what F_1 would give each worker is counted beside it. At
the end of an epoch the head is planned as that of a block is, and for each worker it is settled how
deep into its arc keys of the tail leave it for their F_2.

Inside an epoch things turn out otherwise. Whatever the plan says, a worker whose load is above

    (1 + tolerance) * its share of (the load of all + that of an epoch)

takes nothing, and the tuple goes to the first candidate of its key that has room, as in PoRC
(CG 5.1). The epoch in it is for the order of tuples, which is not that of the plan. As the loads of
all workers add up to less than their bounds, one of them always has room.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.grouping.elastic import ElasticGrouping, ElasticRouter
from unskew.grouping.snapshot import Snapshot
from unskew.grouping.waterline_block import Amounts, Block, Indices
from unskew.grouping.waterline_plan import HEAD, Arcs, Plan, loads_of
from unskew.hashing.arrays import check_arrays
from unskew.hashing.candidates import inside, prime_for, second_offset, step_of, worker_behind
from unskew.hashing.mix import salt_of, spread
from unskew.sketch.decayed import fade
from unskew.sketch.space_saving import SpaceSaving, Summary, count_tuple
from unskew.typing import AnyArray, KeyHashes, Loads, Weights, Workers

EPOCH_PER_WORKER = 64
MIN_EPOCH = 10_000
DECAY = 0.5
_GOLDEN = 0.6180339887498949


class Course(NamedTuple):
    """The plan of an epoch, as the kernel sees it."""

    keys: KeyHashes
    """The key of each counter of the sketch, as of the plan."""
    begins: npt.NDArray[np.int64]
    """Where the pieces of each counter's key begin, and end: two numbers each, equal if none."""
    workers: npt.NDArray[np.int64]
    ends: Amounts
    """What a key's pieces up to this one hold."""
    turns: npt.NDArray[np.int64]
    """How many tuples each planned key has had."""
    ebb: Amounts
    """How deep into a worker's arc its tail keys go to F_2."""


class Arc(NamedTuple):
    """Where the arc of each worker begins, and how wide it is."""

    begins: KeyHashes
    widths: Amounts


class Levels(NamedTuple):
    """What the workers have, and are to have; arrays of one number, or of one a worker."""

    shares: Loads
    loads: Loads
    total: Loads
    seen: npt.NDArray[np.int64]
    """Tuples, of which ``total`` is the weight."""
    by_first: Loads
    """What F_1 would have given each worker, faded."""


@kernel
def _last_not_above(values: KeyHashes, value: np.uint64) -> np.int64:
    low, high = np.int64(0), np.int64(values.shape[0])
    while high - low > 1:
        middle = np.int64((low + high) >> 1)
        if values[middle] <= value:
            low = middle
        else:
            high = middle
    return low


@kernel
def _in_turn(course: Course, slot: np.int64) -> np.int64:
    """Return the worker whose turn it is among those of a planned key."""
    low, high = course.begins[2 * slot], course.begins[2 * slot + 1] - 1
    course.turns[slot] += 1
    turn = course.turns[slot] * _GOLDEN
    at = (turn - np.floor(turn)) * course.ends[high]
    while low < high:
        middle = (low + high) >> 1
        if at < course.ends[middle]:
            high = middle
        else:
            low = middle + 1
    return np.int64(course.workers[low])


@kernel
def _with_room(
    chosen: np.int64, mixed: np.uint64, first: np.int64, prime: np.uint64, height: float,
    levels: Levels,
) -> np.int64:  # fmt: skip
    """Return the worker meant, or if it is above its bound the first candidate that is not."""
    n = np.uint64(levels.loads.shape[0])
    if levels.loads[chosen] < height * levels.shares[chosen]:
        return chosen
    if levels.loads[first] < height * levels.shares[first]:
        return first
    start, step = second_offset(mixed, n), step_of(mixed, prime)
    walk = start
    for _ in range(levels.loads.shape[0] - 1):
        worker = worker_behind(np.uint64(first), inside(walk, start, step, prime, n), n)
        if levels.loads[worker] < height * levels.shares[worker]:
            return worker
        walk = (walk + step) % prime
    return chosen  # all that came so far weighs nothing


@kernel
def _route_stream(
    hashes: KeyHashes, weights: Weights, salt: np.uint64, prime: np.uint64, tolerance: float,
    epoch: int, arc: Arc, summary: Summary, course: Course, levels: Levels, out: Workers,
) -> None:  # fmt: skip
    n = np.uint64(levels.loads.shape[0])
    for i in range(hashes.shape[0]):
        weight = weights[i] if weights.shape[0] else 1.0
        slot = count_tuple(summary, hashes[i], weight)
        mixed = spread(hashes[i], salt)
        first = _last_not_above(arc.begins, mixed)
        planned = slot >= 0 and course.keys[slot] == hashes[i]
        if planned and course.begins[2 * slot] < course.begins[2 * slot + 1]:
            chosen = _in_turn(course, slot)
        elif np.float64(mixed - arc.begins[first]) < course.ebb[first] * arc.widths[first]:
            chosen = worker_behind(np.uint64(first), second_offset(mixed, n), n)
        else:
            chosen = first
        levels.total[0] += weight
        levels.seen[0] += 1
        ahead = 1.0 + epoch / levels.seen[0]
        height = (1.0 + tolerance) * levels.total[0] * ahead
        chosen = _with_room(chosen, mixed, first, prime, height, levels)
        levels.loads[chosen] += weight
        levels.by_first[first] += weight
        out[i] = chosen


class WaterlineStreamRouter(ElasticRouter):
    """Routes by the plan of the last epoch, and plans at the end of each."""

    def __init__(self, grouping: ElasticGrouping, tolerance: float, source: int) -> None:
        n = grouping.n_workers
        counters = round(2 / HEAD) * n
        self.sketch = SpaceSaving(counters)
        self.epoch = max(MIN_EPOCH, EPOCH_PER_WORKER * n)
        self.tolerance = tolerance
        self._source = source
        self._arcs = Arcs(None if grouping.capacities is None else grouping.shares, n)
        self._arc = Arc(self._arcs.begins, self._arcs.widths)
        self._prime = prime_for(n)
        self._course = Course(
            np.zeros(counters, np.uint64), np.zeros(2 * counters, np.int64),
            np.zeros(counters + n, np.int64), np.zeros(counters + n),
            np.zeros(counters, np.int64), np.zeros(n),
        )  # fmt: skip
        self._levels = Levels(
            grouping.shares, np.zeros(n), np.zeros(1), np.zeros(1, np.int64), np.zeros(n)
        )
        changing = {f"plan.{k}": v for k, v in self._course._asdict().items()}
        changing |= {k: v for k, v in self._levels._asdict().items() if k != "shares"}
        super().__init__(grouping, changing)

    def snapshot(self) -> Snapshot:
        """Return the plan, the loads and the counters."""
        arrays = ElasticRouter.snapshot(self).arrays
        arrays |= {f"sketch.{name}": array for name, array in self.sketch.snapshot().items()}
        return Snapshot(self.grouping.spec.name, self.grouping.n_workers, arrays)

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take over the state of a snapshot; checked whole before anything is changed."""
        mine = {name: array for name, array in arrays.items() if not name.startswith("sketch.")}
        check_arrays(mine, self._state)
        self.sketch.load(
            {
                name.removeprefix("sketch."): array
                for name, array in arrays.items()
                if name.startswith("sketch.")
            }
        )
        for name, array in self._state.items():
            array[:] = arrays[name]

    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        out = np.empty(len(hashes), np.int32)
        at = 0
        while at < len(hashes):
            end = min(len(hashes), at + self.epoch - int(self._levels.seen[0]) % self.epoch)
            cut = slice(at, end)
            _route_stream(
                hashes[cut], weights[cut], salt_of(self.grouping.seed), self._prime,
                self.tolerance, self.epoch, self._arc, self.sketch.summary, self._course,
                self._levels, out[cut],
            )  # fmt: skip
            if int(self._levels.seen[0]) % self.epoch == 0:
                self._end_epoch()
            at = end
        return out

    def _end_epoch(self) -> None:
        """Plan the next epoch, then let what this plan was made from fade."""
        summary, course = self.sketch.summary, self._course
        whole, held = float(summary.total[0]), int(summary.size[0])
        course.begins[:] = 0
        if whole > 0:
            mixed = spread(summary.keys[:held], salt_of(self.grouping.seed))
            slots = np.argsort(mixed)
            first = self._arcs.first(mixed[slots])
            hot = summary.counts[slots] > HEAD * whole * self._levels.shares[first]
            self._plan(slots[hot], mixed[slots[hot]], first[hot], whole)
        course.keys[:] = summary.keys
        course.turns[:] = 0
        fade(summary, DECAY)
        self._levels.by_first[:] *= DECAY

    def _plan(self, slots: Indices, mixed: KeyHashes, first: Indices, whole: float) -> None:
        counts = self.sketch.summary.counts[slots]
        ones = np.ones(len(slots), np.int64)
        head = Block(ones, ones, ones, mixed, counts)
        shares = self._levels.shares
        plan = Plan(head, first, whole * (1 + self.tolerance) * shares)
        tail = np.maximum(self._levels.by_first - loads_of(first, counts, len(shares)), 0)
        over = np.maximum(tail - plan.room, 0)
        self._course.ebb[:] = over / np.maximum(tail, 1e-300)
        plan.room[:] = np.maximum(plan.room - tail, 0)
        # Where the keys that leave go is not known; each worker keeps room for some of them.
        plan.room *= max(0.0, 1 - float(over.sum()) / max(float(plan.room.sum()), 1e-300))
        plan.fill(np.arange(len(slots)), np.empty(0, np.int64))
        pieces = plan.pieces()
        split = np.zeros(len(slots), np.bool_)
        split[pieces.keys] = True
        alone = np.flatnonzero(~split)
        keys = np.concatenate((alone, pieces.keys))
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        amounts = np.concatenate((counts[alone], pieces.amounts))[order]
        begins = np.flatnonzero(np.diff(keys, prepend=-1))
        heights = np.cumsum(amounts)
        lengths = np.diff(begins, append=len(keys))
        course = self._course
        course.workers[: len(keys)] = np.concatenate((plan.workers[alone], pieces.workers))[order]
        course.ends[: len(keys)] = heights - np.repeat(heights[begins] - amounts[begins], lengths)
        course.begins[2 * slots] = begins
        course.begins[2 * slots + 1] = begins + lengths

    def _resized(self, grouping: Any) -> Self:
        """Start over: loads of other workers and arcs say nothing about these."""
        return type(self)(grouping, self.tolerance, self._source)
