"""Streams for property tests: few keys, so that they collide, and hot ones among them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from unskew.hashing.mix import mix
from unskew.typing import KeyHashes, Weights


class Stream(NamedTuple):
    hashes: KeyHashes
    weights: Weights | None

    def lists(self):
        """Give what the naive twins take."""
        weights = None if self.weights is None else self.weights.tolist()
        return self.hashes.tolist(), weights


@st.composite
def streams(draw, max_tuples=400, weighted=None):
    """Draw a stream whose skew runs from one key alone to all keys alike, with weights or not."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="stream"))
    tuples = draw(st.integers(1, max_tuples), label="tuples")
    keys = draw(st.integers(1, max_tuples), label="keys")
    skew = draw(st.sampled_from([0.0, 0.8, 1.4, 2.0]), label="skew")
    shares = 1 / np.arange(1, keys + 1) ** skew
    ranks = random.choice(keys, size=tuples, p=shares / shares.sum())
    weights = None
    if draw(st.booleans(), label="weights") if weighted is None else weighted:
        # Whole, fractional and no weight at all take different paths through the sketch.
        kind = draw(st.sampled_from(["whole", "real", "some zero"]), label="kind of weights")
        real = random.exponential(size=tuples)
        weights = {
            "whole": random.integers(1, 5, tuples).astype(np.float64),
            "real": real,
            "some zero": np.where(random.random(tuples) < 0.3, 0.0, real),
        }[kind]
    return Stream(mix(ranks.astype(np.uint64)), weights)


def replicas(hashes, workers):
    """Give on how many workers each key is."""
    _, keys = np.unique(hashes, return_inverse=True)
    pairs = np.unique(np.stack([keys, workers]), axis=1)
    return np.bincount(pairs[0])


def loads(workers, n_workers, weights=None):
    """Give what each worker got."""
    return np.bincount(workers, weights, n_workers)
