"""Sketches: speed and accuracy at equal numbers of counters, beside `datasketches`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import datasketches
import numpy as np
import numpy.typing as npt

from benchmarks.streams import KEYS, Stream, key_hashes, zipf
from benchmarks.tables import Table
from unskew import hash_keys
from unskew.sketch import (
    DecayedSpaceSaving,
    ExactCounter,
    LossyCounting,
    SlidingLossyCounting,
    SpaceSaving,
)
from unskew.typing import KeyHashes

LG_MAP = 10
CAPACITY = 3 * 2**LG_MAP // 4  # what a `datasketches` map of 2^10 places holds at most
THETA = 2 / CAPACITY  # lossy counting answers above epsilon = 1 / capacity only
TUPLES = 1_000_000
EPOCH, DECAY = 1000, 0.2
WINDOW = 200_000
STREAMS = {"Zipf 1.4": 1.4, "Zipf 1.0": 1.0, "uniform": 0.0}

MANY_KEYS = 1_000_000
CAPACITIES = (100, 1_000, 10_000, 100_000)

Counts = npt.NDArray[np.float64]


class Answer(NamedTuple):
    """What a sketch says: an estimate for every rank, -1 without a counter, and the heavy ranks."""

    estimates: Counts
    heavy: npt.NDArray[np.int64]


class Subject(NamedTuple):
    """A sketch under test: count a stream, answer, and what the true counts are."""

    count: Callable[[Any], Any]
    answer: Callable[[Any], Answer]
    truth: Callable[[npt.NDArray[np.int32]], Counts]


def measure(*, quick: bool) -> dict[str, Any]:
    """Measure every sketch on every stream, then SpaceSaving over capacities."""
    repeats = 2 if quick else 5
    results = []
    for label, z in STREAMS.items():
        stream = zipf(z, TUPLES)
        items = stream.hashes.tolist()
        for name, subject in _subjects().items():
            given = items if name.startswith("datasketches") else stream
            nanoseconds, sketch = _best(lambda s=subject, g=given: s.count(g), TUPLES, repeats)
            judged = _judge(subject.answer(sketch), subject.truth(stream.ranks))
            results.append({"sketch": name, "stream": label, "nanoseconds": nanoseconds} | judged)
    return {
        "capacity": CAPACITY, "tuples": TUPLES, "sketches": results, "growth": _growth(quick=quick)
    }  # fmt: skip


def _subjects() -> dict[str, Subject]:
    epsilon = 1 / CAPACITY
    return {
        "SpaceSaving": Subject(lambda s: _fed(SpaceSaving(CAPACITY), s), _ours, _whole),
        "LossyCounting": Subject(lambda s: _fed(LossyCounting(epsilon), s), _ours, _whole),
        "datasketches frequent items": Subject(_count_datasketches, _theirs, _whole),
        "DecayedSpaceSaving": Subject(
            lambda s: _fed(DecayedSpaceSaving(CAPACITY, EPOCH, DECAY), s), _ours, _faded
        ),
        "SlidingLossyCounting": Subject(
            lambda s: _fed(SlidingLossyCounting(epsilon, WINDOW), s), _ours, _window
        ),
        "ExactCounter": Subject(lambda s: _fed(ExactCounter(), s), _ours, _whole),
    }


def _fed(sketch: Any, stream: Stream) -> Any:
    sketch.update(stream.hashes)
    return sketch


def _count_datasketches(items: list[int]) -> datasketches.frequent_items_sketch:
    """One call of `update` an item, made from C: a third faster than a loop."""
    sketch = datasketches.frequent_items_sketch(LG_MAP)
    deque(map(sketch.update, items), maxlen=0)
    return sketch


def _ours(sketch: Any) -> Answer:
    tracked = sketch.tracked()
    return _answer(tracked.keys, tracked.counts, sketch.heavy(THETA).keys)


def _theirs(sketch: datasketches.frequent_items_sketch) -> Answer:
    kind = datasketches.frequent_items_error_type.NO_FALSE_NEGATIVES
    held = sketch.get_frequent_items(kind, 0)
    heavy = sketch.get_frequent_items(kind, int(THETA * sketch.total_weight))
    # Below its maximum error the sketch lists nothing, so it is asked for every key one by one.
    items = key_hashes()[1 : KEYS + 1].tolist()
    bounds = np.array([sketch.get_lower_bound(item) for item in items], np.float64)
    with_counter = [item for item, bound in zip(items, bounds, strict=True) if bound > 0]
    known = sorted({*with_counter, *(item for item, *_ in held)})
    estimates = [sketch.get_estimate(item) for item in known]
    return _answer(
        np.array(known, np.uint64),
        np.array(estimates, np.float64),
        np.array([item for item, *_ in heavy], np.uint64),
    )


def _answer(keys: KeyHashes, counts: Counts, heavy: KeyHashes) -> Answer:
    estimates = np.full(KEYS + 2, -1.0)
    estimates[_ranks(keys)] = counts
    return Answer(estimates, _ranks(heavy))


def _ranks(keys: KeyHashes) -> npt.NDArray[np.int64]:
    order = np.argsort(key_hashes())
    return order[np.searchsorted(key_hashes(), keys, sorter=order)]


def _whole(ranks: npt.NDArray[np.int32]) -> Counts:
    return np.bincount(ranks, minlength=KEYS + 2).astype(np.float64)


def _faded(ranks: npt.NDArray[np.int32]) -> Counts:
    epochs = np.arange(len(ranks)) // EPOCH
    return np.bincount(ranks, DECAY ** (epochs[-1] - epochs), minlength=KEYS + 2)


def _window(ranks: npt.NDArray[np.int32]) -> Counts:
    """Count what the answering one of three counters covers: W to 1.5 W tuples."""
    stagger = WINDOW // 2
    start = max(0, -(-len(ranks) // stagger) - 3) * stagger
    return _whole(ranks[start:])


def _judge(answer: Answer, truth: Counts) -> dict[str, Any]:
    total = truth.sum()
    held = answer.estimates >= 0
    errors = np.where(held, answer.estimates, 0.0) - truth
    heavy = np.zeros(len(truth), np.bool_)
    heavy[answer.heavy] = True
    bound, asked = truth > total / CAPACITY, truth >= THETA * total
    return {
        "counters": int(held.sum()),
        "too_high": float(max(0.0, errors[held].max(initial=0.0)) / total),
        "too_low": float(max(0.0, -errors[held].min(initial=0.0)) / total),
        "above_bound": int(bound.sum()),
        "held_of_those": int((bound & held).sum()),
        "heavy": int(asked.sum()),
        "found_of_those": int((asked & heavy).sum()),
        "false_positives": int((heavy & ~asked).sum()),
    }


def _growth(*, quick: bool) -> list[dict[str, Any]]:
    """SpaceSaving on a million keys, more than any capacity holds, with and without weights."""
    tuples, repeats = (TUPLES, 2) if quick else (10 * TUPLES, 3)
    generator = np.random.default_rng(1)
    names = hash_keys(np.arange(MANY_KEYS))
    zipf_shares = 1 / np.arange(1, MANY_KEYS + 1)
    drawn = np.searchsorted(np.cumsum(zipf_shares / zipf_shares.sum()), generator.random(tuples))
    streams = {
        "Zipf 1.0": names[np.minimum(drawn, MANY_KEYS - 1)],
        "uniform": names[generator.integers(0, MANY_KEYS, tuples)],
    }
    weights = generator.uniform(0.5, 1.5, tuples)
    results = []
    for label, hashes in streams.items():
        for weighted in (False, True):
            given = weights if weighted else None
            row: dict[str, float] = {}
            for capacity in CAPACITIES:

                def count(
                    capacity: int = capacity, hashes: KeyHashes = hashes, given: Any = given
                ) -> SpaceSaving:
                    sketch = SpaceSaving(capacity)
                    sketch.update(hashes, given)
                    return sketch

                row[str(capacity)], _ = _best(count, tuples, repeats)
            results.append({"stream": label, "weighted": weighted, "nanoseconds": row})
    return results


def _best(count: Callable[[], Any], tuples: int, repeats: int) -> tuple[float, Any]:
    best, sketch = np.inf, None
    for _ in range(repeats):
        started = time.process_time()
        sketch = count()
        best = min(best, time.process_time() - started)
    return best / tuples * 1e9, sketch


def tables(results: dict[str, Any]) -> list[Table]:
    """Show speed and accuracy, then SpaceSaving by capacity."""
    accuracy = Table(
        "sketches",
        f"{results['capacity']} counters, {results['tuples']:,} tuples, {KEYS:,} keys",
        (
            "sketch", "stream", "ns a tuple", "counters in use", "too high by, / N",
            "too low by, / N", "held above N/c", "found above 2N/c", "false above 2N/c",
        ),
    )  # fmt: skip
    for row in results["sketches"]:
        accuracy.add(
            f"`{row['sketch']}`",
            row["stream"],
            f"{row['nanoseconds']:.0f}",
            f"{row['counters']:,}",
            _share(row["too_high"]),
            _share(row["too_low"]),
            f"{row['held_of_those']} of {row['above_bound']}",
            f"{row['found_of_those']} of {row['heavy']}",
            row["false_positives"],
        )
    growth = Table(
        "space-saving",
        "SpaceSaving: ns a tuple by capacity, a million keys",
        ("stream", "weights", *(f"{capacity:,}" for capacity in CAPACITIES)),
    )
    for row in results["growth"]:
        spent = (f"{row['nanoseconds'][str(capacity)]:.0f}" for capacity in CAPACITIES)
        growth.add(row["stream"], "0.5 to 1.5" if row["weighted"] else "1", *spent)
    return [accuracy, growth]


def _share(figure: float) -> str:
    return "0" if figure < 1e-12 else f"{figure:.1e}"
