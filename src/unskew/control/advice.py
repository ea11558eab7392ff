"""Advice: which grouping would finish a job soonest, judged by routing a sample of its rows.

Each grouping of the catalogue routes the sample as it would route the job, from a few sources that
know nothing of each other. The time of the job, over that of an ideal one, is then estimated as

    imbalance + merge * partials / rows

- *imbalance*: the load of the busiest worker over the average. All wait for it.
- *partials*: where keys are split, each replica of a key makes one partial that must be merged.
  ``merge`` is what merging one costs, in units of the work on an average row.

An ideal job has all workers equally busy and merges nothing: its time is 1. Routing itself is not
in the model; a grouping has to gain a tenth over plain hashing to be worth it.

A batch job tells its routers nothing, and neither does the sample. So a scheme that learns from its
workers is judged by what it does unaided: `key-groups` routes as plain hashing does, since nobody
activates a plan, and `cg` keeps to the virtual workers that each worker starts with.

A sample is smaller than the whole, which shows in two ways that are corrected for:

- Plain hashing knows nothing of loads, so in a sample chance alone makes some workers busier. The
  spread that chance explains is taken off (James and Stein's estimator). Groupings that look at
  loads even this out themselves.
- Keys repeat less often in a sample, so it has more replicas a row than the whole. How their number
  grows with the rows is seen from half of the sample, as a power of the rows (Heaps' law), and
  drawn on from there. The power falls as rows get more, so this errs towards too many partials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from unskew.checks import check_whole
from unskew.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from unskew.grouping.base import Grouping, Trait
from unskew.grouping.catalog import grouping, groupings
from unskew.hashing.arrays import as_hashes, as_weights
from unskew.hashing.candidates import MAX_WORKERS
from unskew.metrics import peak, worker_loads
from unskew.typing import AnyArray, KeyHashes, Weights, Workers

PLAIN = "key"
"""What Spark does by itself: another hash than Spark's, the same balance."""

WORTH_IT = 0.1
"""Nearer to ideal, or to plain hashing, than this share of the time is not worth a split."""

_ALIKE = 0.05
_SOURCES = 4


@dataclass(frozen=True, slots=True)
class CostModel:
    """What a job pays besides the work on its rows.

    Attributes
    ----------
    merge
        Merging one partial, in units of the work on an average row. With 1, a partial costs what
        a row costs; a merge of two counters after heavy work on each row costs far less.
    """

    merge: float = 1.0

    def __post_init__(self) -> None:
        merge: Any = self.merge
        is_number = isinstance(merge, Real) and not isinstance(merge, bool)
        if not (is_number and 0 <= merge < math.inf):
            raise InvalidParameterError("merge", merge, "a number from 0 up")
        object.__setattr__(self, "merge", float(merge))


def check_costs(costs: Any) -> CostModel:
    """Return the cost model given, or the usual one; refuse anything else."""
    if costs is None:
        return CostModel()
    if not isinstance(costs, CostModel):
        raise InvalidTypeError("costs", f"a {type(costs).__name__}", "pass a CostModel")
    return costs


@dataclass(frozen=True, slots=True)
class Advice:
    """What to expect of one grouping.

    Attributes
    ----------
    grouping
        Its name in the catalogue.
    splits_keys
        Whether partials of a key must be merged.
    imbalance
        The load of the busiest worker over the average; None without rows.
    replication
        On how many workers a key of the sample is, on average; None without rows.
    estimated_time
        The time of the job over that of an ideal one; None without rows.
    recommended
        True for exactly one grouping.
    reason
        Why, or why not, in a sentence.
    """

    grouping: str
    splits_keys: bool
    imbalance: float | None
    replication: float | None
    estimated_time: float | None
    recommended: bool
    reason: str


@dataclass(frozen=True, slots=True)
class _Trial:
    name: str
    splits_keys: bool
    imbalance: float
    replication: float
    time: float


def advise_on_sample(
    hashes: KeyHashes,
    n_workers: int,
    weights: AnyArray | None = None,
    *,
    rows: int | None = None,
    sources: int = _SOURCES,
    seed: int = 0,
    costs: CostModel | None = None,
) -> list[Advice]:
    """Route a sample with every grouping, and say which to take; the recommended one comes first.

    Parameters
    ----------
    hashes
        Key hashes of the sample, in the order of the rows.
    n_workers
        Workers of the job.
    weights
        What each row costs; 1 if not given.
    rows
        Rows of the whole job; those of the sample if not given.
    sources
        Routers that share the sample, each a run of consecutive rows. Few, so that each gets
        enough rows to show how it balances.
    seed
        Seed of the groupings.
    costs
        The cost model.

    Examples
    --------
    >>> from unskew.hashing.keys import hash_keys
    >>> best, *_, worst = advise_on_sample(hash_keys(["hot"] * 900 + list("abcdefghij") * 10), 4)
    >>> best.recommended, best.splits_keys, round(best.imbalance, 1)
    (True, True, 1.0)
    >>> worst.splits_keys, round(worst.imbalance, 1)
    (False, 3.7)
    """
    check_whole("n_workers", n_workers, 2, MAX_WORKERS)
    check_whole("sources", sources, 1, 2**31)
    keys = as_hashes(hashes)
    cost = as_weights(weights, len(keys))
    whole = len(keys) if rows is None else check_whole("rows", rows, 0, 2**63 - 1)
    if whole < len(keys):
        raise InvalidInputError(
            "rows", f"is {whole}, fewer than sampled", "pass those of the whole"
        )
    model = check_costs(costs)
    candidates = [grouping(name, n_workers, seed=seed) for name in groupings()]
    if not len(keys) or (len(cost) and not cost.sum()):
        return _without_work(candidates)
    sample = _Sample(keys, cost, whole, sources, seed)
    return _judged([sample.tried(each, model) for each in candidates])


class _Sample:
    """A sample of rows, and what its size does to what is seen in it."""

    def __init__(
        self, hashes: KeyHashes, weights: Weights, rows: int, sources: int, seed: int
    ) -> None:
        self.hashes = hashes
        self.weights = weights
        self.rows = rows
        self.sources = min(sources, len(hashes))
        _, self.keys = np.unique(hashes, return_inverse=True)
        # Not the seed alone: made-up data may well come from a generator with that very seed.
        self.half = np.random.default_rng((seed, len(hashes))).random(len(hashes)) < 0.5

    def tried(self, each: Grouping, costs: CostModel) -> _Trial:
        """Route the sample."""
        workers = self._routed(each)
        imbalance = self._imbalance(each, workers)
        replicas = self.keys.astype(np.int64) * each.n_workers + workers
        replication = len(np.unique(replicas)) / (int(self.keys.max()) + 1)
        partials = self._partials(each, replicas) if each.splits_keys else 0.0
        time = imbalance + costs.merge * partials / self.rows
        return _Trial(each.spec.name, each.splits_keys, imbalance, replication, time)

    def _routed(self, each: Grouping) -> Workers:
        parts = np.array_split(np.arange(len(self.hashes)), self.sources)
        return np.concatenate(
            [
                each.build(source=source).route(
                    self.hashes[part], self.weights[part] if len(self.weights) else None
                )
                for source, part in enumerate(parts)
            ]
        )

    def _imbalance(self, each: Grouping, workers: Workers) -> float:
        loads = worker_loads(workers, each.n_workers, self.weights if len(self.weights) else None)
        highest = peak(loads)
        unseen = 1 - len(self.hashes) / self.rows
        if not unseen or Trait.ORDER_DEPENDENT in each.spec.traits:
            return highest
        chance = unseen * self._squares() / each.n_workers
        # An ideal spread has no variance at all; then there is nothing to take off.
        spread = float((loads / loads.sum()).var()) or math.inf
        return 1 + (highest - 1) * max(0.0, 1 - chance / spread)

    def _squares(self) -> float:
        """Sum the squares of the weights, as shares of all, which no square can overflow."""
        if not len(self.weights):
            return 1 / len(self.hashes)
        return float(np.square(self.weights / self.weights.sum()).sum())

    def _partials(self, each: Grouping, replicas: npt.NDArray[np.int64]) -> float:
        """Estimate how many replicas the whole has, not more than its keys can have."""
        of_keys = self._in_whole(self.keys) * each.workers_per_key
        return min(self._in_whole(replicas), of_keys)

    def _in_whole(self, things: npt.NDArray[np.int64]) -> float:
        """Estimate how many distinct ones the whole has, from the sample and from half of it."""
        seen, in_half = len(np.unique(things)), len(np.unique(things[self.half]))
        power = min(1.0, math.log2(seen / in_half)) if in_half else 1.0
        return float(seen * (self.rows / len(things)) ** power)


def _judged(trials: Sequence[_Trial]) -> list[Advice]:
    best = _recommended(trials)
    plain = next(trial for trial in trials if trial.name == PLAIN)
    ranked = sorted(trials, key=lambda trial: (trial is not best, trial.time, trial.replication))
    return [
        Advice(
            trial.name,
            trial.splits_keys,
            trial.imbalance,
            trial.replication,
            trial.time,
            trial is best,
            _why(trial, plain, trials) if trial is best else _why_not(trial, best, plain),
        )
        for trial in ranked
    ]


def _recommended(trials: Sequence[_Trial]) -> _Trial:
    """Choose the quickest; of those that are as quick, the one with clearly the fewest replicas."""
    plain = next(trial for trial in trials if trial.name == PLAIN)
    quickest = min(trial.time for trial in trials)
    if quickest > plain.time * (1 - WORTH_IT):
        return plain
    quick = [trial for trial in trials if trial.time <= quickest * (1 + _ALIKE)]
    return min(quick, key=lambda trial: (round(trial.replication, 2), trial.time))


def _why(best: _Trial, plain: _Trial, trials: Sequence[_Trial]) -> str:
    if best is not plain:
        return (
            f"The busiest worker gets {best.imbalance:.2f} times its share, not "
            f"{plain.imbalance:.2f} times as with plain hashing; a key is on "
            f"{best.replication:.2f} workers."
        )
    if plain.time <= 1 + WORTH_IT:
        return (
            f"Nothing to do: with plain hashing, as Spark does by itself, the busiest worker "
            f"gets {plain.imbalance:.2f} times its share."
        )
    other = min((trial for trial in trials if trial is not plain), key=lambda trial: trial.time)
    return (
        f"Nothing gains a tenth over plain hashing: the nearest, {other.name}, would take "
        f"{other.time:.2f} times the ideal, not {plain.time:.2f} times."
    )


def _why_not(trial: _Trial, best: _Trial, plain: _Trial) -> str:
    if best is plain:
        gain = 1 - trial.time / best.time
        gains = f"gain {gain:.0%} over" if gain > 0 else "gain nothing over"
        return f"It would {gains} plain hashing{', and split keys' if trial.splits_keys else ''}."
    longer = f"{trial.time / best.time:.2f}"
    replicas, fewest = round(trial.replication, 2), round(best.replication, 2)
    if trial.time <= best.time * (1 + _ALIKE) and replicas > fewest:
        return f"As quick as {best.name}, but a key is on {replicas:.2f} workers, not {fewest:.2f}."
    if float(longer) <= 1:
        return f"No better than {best.name}."
    merging = trial.time - trial.imbalance
    cause = (
        f"merging partials takes {merging:.2f} times the ideal time"
        if merging > trial.imbalance - 1
        else f"the busiest worker gets {trial.imbalance:.2f} times its share"
    )
    return f"It takes {longer} times as long as {best.name}: {cause}."


def _without_work(candidates: Sequence[Grouping]) -> list[Advice]:
    """Advise plain hashing where there are no rows, or none that costs anything."""
    why = "There is no work to spread."
    nothing = [
        Advice(each.spec.name, each.splits_keys, None, None, None, False, why)
        for each in candidates
    ]
    ranked = sorted(nothing, key=lambda advice: advice.grouping != PLAIN)
    first = replace(ranked[0], recommended=True, reason=f"Nothing to do: {why[0].lower()}{why[1:]}")
    return [first, *ranked[1:]]
