"""Streams whose sums are exact: weights are quarters, so no bound needs room for rounding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from unskew.hashing.mix import mix
from unskew.typing import KeyHashes, Weights

HOT_AND_COLD = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
WEIGHTS = [0.0, 0.25, 1.0, 1.0, 1.0, 2.0, 5.5]


class Stream(NamedTuple):
    hashes: KeyHashes
    weights: Weights | None

    def tuples(self):
        """Pairs of key and weight, as the twins take them."""
        weights = np.ones(len(self.hashes)) if self.weights is None else self.weights
        return list(zip(self.hashes.tolist(), weights.tolist(), strict=True))

    def cut(self, *at):
        """The stream in consecutive parts."""
        parts = zip([0, *at], [*at, len(self.hashes)], strict=True)
        return [
            Stream(self.hashes[a:b], None if self.weights is None else self.weights[a:b])
            for a, b in parts
        ]

    def true_weights(self):
        """What each key weighs, exactly."""
        totals: dict[int, float] = {}
        for key, weight in self.tuples():
            totals[key] = totals.get(key, 0.0) + weight
        return totals


def lists(elements, max_size):
    """Draw the length first: left alone, Hypothesis draws lists of about five."""
    return st.integers(0, max_size).flatmap(
        lambda size: st.lists(elements, min_size=size, max_size=size)
    )


def streams(max_tuples=120):
    """Draw a stream of few keys, some hot, with weights or without."""
    ranks = st.sampled_from(HOT_AND_COLD)
    plain = lists(ranks, max_tuples).map(lambda drawn: Stream(_hashes(drawn), None))
    weighted = lists(st.tuples(ranks, st.sampled_from(WEIGHTS)), max_tuples).map(
        lambda drawn: Stream(
            _hashes([rank for rank, _ in drawn]), np.array([weight for _, weight in drawn], float)
        )
    )
    return plain | weighted


def zipf_stream(tuples, keys=2_000, skew=1.2, seed=0, weighted=False):
    """A long stream with a heavy head, the same on every run."""
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(1, keys + 1) ** skew
    ranks = random.choice(keys, size=tuples, p=shares / shares.sum())
    weights = random.integers(0, 20, tuples) / 4 if weighted else None
    return Stream(_hashes(ranks), weights)


def _hashes(ranks):
    return mix(np.array(ranks, np.uint64))
