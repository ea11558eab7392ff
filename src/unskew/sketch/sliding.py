"""A sliding window emulated by several counters over tumbling windows.

Gedik sec. 4.1.2, fig. 2. Each of x lossy counters counts everything, and they start over in turn,
one every W / (x - 1) tuples; the one that started longest ago answers. It then always holds the
last W to (1 + 1 / (x - 1)) * W tuples: with the paper's three, W to 1.5 W.

    x = 3      |--- W ---|
    counter 0  ==========##### ==========####    = building   # answering
    counter 1       ==========##### ========
    counter 2            ==========##### ===
"""

from __future__ import annotations

import numpy as np

from unskew.checks import check_whole
from unskew.errors import InvalidParameterError, SnapshotMismatchError
from unskew.hashing.arrays import as_hashes, as_weights, check_arrays
from unskew.sketch.counts import Counts
from unskew.sketch.lossy_counting import LossyCounting
from unskew.typing import AnyArray, KeyHashes


class SlidingLossyCounting:
    """Lossy counting over the last ``window`` tuples, or a little more.

    >>> sketch = SlidingLossyCounting(epsilon=0.1, window=4)
    >>> sketch.update(np.repeat(np.array([7, 8], np.uint64), 12))
    >>> sketch.tracked().keys.tolist()
    [8]
    """

    def __init__(self, epsilon: float, window: int, counters: int = 3) -> None:
        check_whole("counters", counters, 2, 2**20)
        if check_whole("window", window, -(2**62), 2**62) < 1 or window % (counters - 1):
            raise InvalidParameterError(
                "window", window, f"a positive multiple of counters - 1 = {counters - 1} tuples"
            )
        self.window = window
        self._stagger = window // (counters - 1)
        self._counters = [LossyCounting(epsilon) for _ in range(counters)]
        self._seen = 0

    @property
    def answering(self) -> LossyCounting:
        """The counter that started longest ago."""
        starts = -(-self._seen // self._stagger)  # how many starts there were, the first included
        oldest = max(0, starts - len(self._counters))
        return self._counters[oldest % len(self._counters)]

    @property
    def total(self) -> float:
        """The weight of the tuples that the answer covers."""
        return self.answering.total

    def update(self, hashes: KeyHashes, weights: AnyArray | None = None) -> None:
        """Count tuples in the order given."""
        checked = as_hashes(hashes)
        costs = as_weights(weights, len(checked))
        at = 0
        while at < len(checked):
            turn, within = divmod(self._seen, self._stagger)
            if within == 0:
                self._counters[turn % len(self._counters)].clear()
            until = min(len(checked), at + self._stagger - within)
            for counter in self._counters:
                counter.update(checked[at:until], costs[at:until] if len(costs) else None)
            self._seen += until - at
            at = until

    def tracked(self) -> Counts:
        """Return all keys held for the window, the heaviest first."""
        return self.answering.tracked()

    def heavy(self, delta: float) -> Counts:
        """Return every key whose share of the window is above ``delta``."""
        return self.answering.heavy(delta)

    def snapshot(self) -> dict[str, AnyArray]:
        """Return arrays from which `load` goes on."""
        arrays: dict[str, AnyArray] = {
            "seen": np.array([self._seen]),
            "window": np.array([self.window]),
        }
        for position, counter in enumerate(self._counters):
            for name, array in counter.snapshot().items():
                arrays[f"{position}.{name}"] = array
        return arrays

    def load(self, snapshot: dict[str, AnyArray]) -> None:
        """Take the counters of a snapshot in place of those held."""
        columns = {name for name in snapshot if name.split(".")[-1] in Counts._fields}
        check_arrays(snapshot, self.snapshot(), of_any_length=columns)
        if int(snapshot["window"][0]) != self.window:
            raise SnapshotMismatchError("window", int(snapshot["window"][0]), self.window)
        loaded = [LossyCounting(counter.epsilon) for counter in self._counters]
        for position, counter in enumerate(loaded):
            prefix = f"{position}."
            counter.load(
                {
                    name.removeprefix(prefix): array
                    for name, array in snapshot.items()
                    if name.startswith(prefix)
                }
            )
        self._counters = loaded
        self._seen = int(snapshot["seen"][0])
