"""FISH: as many workers for a key as it is hot of late, the least busy of them by inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from unskew._kernel import kernel
from unskew.checks import check_number, check_share, check_whole
from unskew.errors import SnapshotMismatchError
from unskew.grouping.base import GroupingSpec, Router, Trait, first_turn
from unskew.grouping.consistent import RingGrouping
from unskew.grouping.elastic import ElasticRouter, carried
from unskew.grouping.fish_backlog import (
    MAX_SERVICE,
    MIN_SERVICE,
    Inferred,
    are_possible,
    as_service_times,
    new_inferred,
    work_off,
)
from unskew.grouping.fish_candidates import (
    Lists,
    forget_levels,
    least_busy,
    less_busy_of_two,
    new_lists,
)
from unskew.grouping.fish_hotness import (
    TAIL_CHOICES,
    Hotness,
    Rules,
    choices_of,
    end_epoch,
    new_hotness,
)
from unskew.grouping.head import turned_back
from unskew.grouping.snapshot import Snapshot
from unskew.hashing.arrays import as_weights, check_arrays
from unskew.hashing.candidates import MAX_WORKERS
from unskew.hashing.mix import salt_of, spread
from unskew.hashing.ring import Circle
from unskew.sketch.least import heed, least, renew
from unskew.sketch.space_saving import MAX_CAPACITY, SpaceSaving, Summary, count_tuple
from unskew.typing import AnyArray, KeyHashes, Loads, Weights, Workers


@kernel
def _route_fish(
    hashes: KeyHashes,
    weights: Weights,
    times: Weights,
    salt: np.uint64,
    turn: np.int64,
    interval: float,
    rules: Rules,
    summary: Summary,
    hotness: Hotness,
    circle: Circle,
    lists: Lists,
    inferred: Inferred,
    out: Workers,
) -> None:
    n = inferred.backlog.shape[0]
    for i in range(hashes.shape[0]):
        weight = weights[i] if weights.shape[0] else 1.0
        if times.shape[0] and times[i] - inferred.clock[1] > interval:
            work_off(inferred, times[i])
        if hotness.position[0] >= rules.epoch:
            end_epoch(summary, hotness, rules, n)
        hotness.position[0] += 1
        slot = count_tuple(summary, hashes[i], weight)
        d = np.int64(TAIL_CHOICES)
        if slot >= 0:
            if hotness.keys[slot] != hashes[i]:
                lists.length[slot] = 0
            d = choices_of(summary, hotness, rules, slot, hashes[i], weight, n)
        if d == TAIL_CHOICES:
            mixed = spread(hashes[i], salt)
            chosen = less_busy_of_two(circle, mixed, turn, inferred.waiting)
        elif d < n:
            mixed = spread(hashes[i], salt)
            chosen = least_busy(
                lists, circle, mixed, turn, d, slot, inferred.waiting, inferred.order
            )
        else:
            chosen = least(inferred.waiting, inferred.order)
        heed(weight * inferred.service[chosen], inferred.waiting, inferred.order)
        inferred.backlog[chosen] += weight
        inferred.waiting[chosen] = inferred.backlog[chosen] * inferred.service[chosen]
        out[i] = turned_back(chosen, np.uint64(n), np.uint64(turn))


@dataclass(frozen=True, slots=True)
class Fish(RingGrouping):
    """Give a key workers by how hot it has been of late, and take the one that waits least.

    FISH sec. 4 and 5. Keys are counted with decay, so that a key that turns hot is found within a
    few of its tuples and one that has cooled down is forgotten (`unskew.grouping.fish_hotness`).
    The candidates of a key are the next d workers on the ring, so workers may come and go
    (`unskew.hashing.ring`). Of those it takes the one whose backlog, as this source infers it,
    will be worked off first.

    The backlog of a worker is what this source has given it, less what the time since then was
    enough for. The source must be told two things. One is how long a tuple of weight 1 takes each
    worker, now and then: ``router.observe(service_times=..., now=...)``. As it knows of its own
    tuples only, it should be told ``s`` times that if ``s`` sources share the workers. The other is
    when tuples come, by ``route(..., times=...)``. Without the one or the other nothing is worked
    off, and loads are balanced from the start on, in proportion to ``capacities``.

    Where this departs from the paper, `unskew.grouping.fish_hotness` says for Alg. 1 and 2 and
    `unskew.grouping.fish_backlog` for Alg. 3. A resize keeps what is known of keys, and the
    backlogs if they are worked off; a new worker has none, and takes as long as the others on
    average.

    >>> router = Fish(n_workers=4).build()
    >>> router.route(np.full(9, 42, dtype=np.uint64)).tolist()  # one hot key
    [2, 0, 1, 3, 0, 1, 2, 3, 0]
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec(
        "fish",
        "FISH 4",
        Trait.SPLITS_KEYS | Trait.ORDER_DEPENDENT | Trait.COMPILED | Trait.ELASTIC,
    )
    theta: float | None = None
    """A key is hot with more than this share of the recent tuples; 1 / (4 n_workers) if None."""
    epoch: int = 1000
    """N_epoch: after how many tuples counts fade."""
    decay: float = 0.2
    """Alpha: what counts keep of themselves from one epoch to the next."""
    counters: int = 1000
    """K_max: how many keys can have a counter."""
    min_choices: int | None = None
    """d_min: how many workers a hot key has at least; by the shares of the hot keys if None."""
    interval: float = 10.0
    """T: how many seconds must have passed before backlogs are revised."""

    def __post_init__(self) -> None:
        """Check the settings of Alg. 1 to 3."""
        RingGrouping.__post_init__(self)
        if self.theta is not None:
            self._settle("theta", check_share("theta", self.theta))
        self._settle("epoch", check_whole("epoch", self.epoch, 1, 2**62))
        self._settle("decay", check_number("decay", self.decay, 0, 1))
        self._settle("counters", check_whole("counters", self.counters, 1, MAX_CAPACITY))
        if self.min_choices is not None:
            check = check_whole("min_choices", self.min_choices, TAIL_CHOICES, MAX_WORKERS)
            self._settle("min_choices", check)
        self._settle("interval", check_number("interval", self.interval, 0, MAX_SERVICE))

    @property
    def threshold(self) -> float:
        """Theta, given or by default."""
        return 1 / (4 * self.n_workers) if self.theta is None else self.theta

    def _start(self, source: int) -> Router:
        return FishRouter(self, source)


class FishRouter(ElasticRouter):
    """The counters of a source, and the backlogs it infers."""

    grouping: Fish

    def __init__(self, grouping: Fish, source: int) -> None:
        n, fixed = grouping.n_workers, min(grouping.min_choices or 0, grouping.n_workers)
        self._source = source
        self._turn = first_turn(source, n)
        self._salt = salt_of(grouping.seed)
        self._rules = Rules(grouping.threshold, grouping.epoch, grouping.decay, fixed)
        self._circle = grouping.ring.circle
        self._lists = new_lists(n, grouping.counters)
        self.sketch = SpaceSaving(grouping.counters)
        self._hotness = new_hotness(grouping.counters, fixed or TAIL_CHOICES)
        self._inferred = new_inferred(n)
        # In plain order; 0 for all as long as nobody has said.
        self._observed = np.zeros(n)
        super().__init__(
            grouping,
            {
                "choices": self._hotness.choices,
                "least_choices": self._hotness.least_choices,
                "position": self._hotness.position,
                "clock": self._inferred.clock,
                "service": self._observed,
            },
        )
        self._infer(np.zeros(n))

    def observe(self, *, service_times: Any, now: float | None = None) -> None:
        """Learn how many seconds a tuple of weight 1 takes each worker, as sampled until ``now``.

        Time is counted from the same moment as the ``times`` of tuples.
        """
        observed = as_service_times(service_times, self.grouping.n_workers)
        moment = None if now is None else check_number("now", now, 0, np.finfo(float).max)
        self._observed[:] = observed
        self._infer(self._loads)
        if moment is not None:
            self._start_clock(moment)
            if moment - self._inferred.clock[1] > self.grouping.interval:
                work_off(self._inferred, moment)

    def snapshot(self) -> Snapshot:
        """Return the backlogs as loads, in plain order, what is known of workers, and of keys."""
        arrays = Router.snapshot(self).arrays | {"loads": self._loads}
        arrays |= {f"sketch.{name}": array for name, array in self.sketch.snapshot().items()}
        return Snapshot(self.grouping.spec.name, self.grouping.n_workers, arrays)

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take over the state of a snapshot; checked whole before anything is changed."""
        counted = {name: each for name, each in arrays.items() if name.startswith("sketch.")}
        own = {name: each for name, each in arrays.items() if name not in counted}
        check_arrays(own, self._state | {"loads": self._inferred.backlog})
        self._check(own)
        self.sketch.load({name.removeprefix("sketch."): each for name, each in counted.items()})
        for name, array in self._state.items():
            array[:] = own[name]
        self._hotness.keys[:] = self.sketch.summary.keys
        self._hotness.top[0] = self.sketch.summary.counts.max()
        self._lists.length[:] = 0
        self._infer(own["loads"])

    def _route_at(self, hashes: KeyHashes, weights: Weights, times: Weights) -> Workers:
        if len(times):
            self._start_clock(times[0])
        out = np.empty(len(hashes), np.int32)
        _route_fish(
            hashes,
            weights,
            times if self._observed.any() else as_weights(None, 0),
            self._salt,
            np.int64(self._turn),
            self.grouping.interval,
            self._rules,
            self.sketch.summary,
            self._hotness,
            self._circle,
            self._lists,
            self._inferred,
            out,
        )
        return out

    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        return self._route_at(hashes, weights, as_weights(None, 0))

    def _resized(self, grouping: Fish) -> Self:
        other = type(self)(grouping, self._source)
        arrays, n = self.snapshot().arrays, grouping.n_workers
        for name in ("choices", "least_choices"):
            arrays[name] = np.minimum(arrays[name], n)
        if self._observed.any():
            work = np.mean(self._observed * _speeds(self.grouping))
            times = work / _speeds(grouping)
            stay = min(n, len(self._observed))
            times[:stay] = self._observed[:stay]
            arrays["service"] = np.clip(times, MIN_SERVICE, MAX_SERVICE)
        else:
            arrays["service"] = np.zeros(n)
        if self._observed.any() and self._inferred.clock[0]:
            arrays["loads"] = carried(arrays["loads"], n, 0.0)
        else:  # they would send everything to a new worker until it has caught up with the past
            arrays["loads"], arrays["clock"] = np.zeros(n), np.zeros(2)
        other.restore(arrays)
        return other

    @property
    def _loads(self) -> Loads:
        """The backlogs in plain order."""
        return np.roll(self._inferred.backlog, self._turn)

    def _start_clock(self, now: float) -> None:
        if not self._inferred.clock[0]:
            self._inferred.clock[:] = 1.0, now

    def _infer(self, loads: Loads) -> None:
        """Set backlogs and service times, and what follows from them."""
        service = self._observed if self._observed.any() else 1 / _speeds(self.grouping)
        self._inferred.backlog[:] = np.roll(loads, -self._turn)
        self._inferred.service[:] = np.roll(service, -self._turn)
        self._inferred.waiting[:] = self._inferred.backlog * self._inferred.service
        renew(self._inferred.order, self._inferred.waiting)
        forget_levels(self._lists)

    def _check(self, arrays: dict[str, AnyArray]) -> None:
        """Refuse arrays of the right shape that no router can have."""
        n, service = self.grouping.n_workers, arrays["service"]
        if service.any() and not are_possible(service).all():
            raise SnapshotMismatchError("least service time", service.min(), MIN_SERVICE)
        for name, most in (
            ("choices", n),
            ("least_choices", n),
            ("position", self.grouping.epoch),
        ):
            if arrays[name].max() > most:
                raise SnapshotMismatchError(f"array `{name}`", int(arrays[name].max()), most)
        if arrays["clock"][0] not in (0, 1):
            raise SnapshotMismatchError("clock", arrays["clock"][0], "0 or 1")


def _speeds(grouping: Fish) -> Loads:
    return np.array(grouping.capacities or np.ones(grouping.n_workers))
