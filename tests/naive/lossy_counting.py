"""Lossy counting and its emulated sliding window: Gedik sec. 4.1.2, Fig. 2."""

from __future__ import annotations

from math import floor


class LossyCounting:
    """Counts are at most epsilon * total too low, so no key of weight > epsilon * total is lost.

    Weighted form: floor(epsilon * total) windows of weight 1 / epsilon are closed, so the paper's
    window index is i = closed + 1. The paper's "c_f + c_e <= i" means c_a (papers/README.md).

    >>> sketch = LossyCounting(0.25)
    >>> for key in (1, 1, 2, 1, 3):
    ...     sketch.update(key)
    >>> sketch.tracked()  # 2 went when the first window closed; 3 may have been missed once
    {1: (3.0, 0), 3: (1.0, 1)}
    """

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon
        self.total = 0.0
        self.appearances: dict[int, float] = {}  # c_a
        self.errors: dict[int, int] = {}  # c_e

    def update(self, key: int, weight: float = 1.0) -> None:
        """Count one tuple, then evict if it closed a window. A tuple of weight 0 is ignored."""
        if weight == 0:
            return
        closed = floor(self.epsilon * self.total)
        if key not in self.appearances:
            self.appearances[key] = 0.0
            self.errors[key] = closed
        self.appearances[key] += weight
        self.total += weight
        now_closed = floor(self.epsilon * self.total)
        if now_closed > closed:
            for k in list(self.appearances):
                if self.appearances[k] + self.errors[k] <= now_closed:
                    del self.appearances[k], self.errors[k]

    def count(self, key: int) -> float:
        """The (under)count c_a of a key, 0.0 if it is not tracked."""
        return self.appearances.get(key, 0.0)

    def tracked(self) -> dict[int, tuple[float, int]]:
        """Every tracked key with its (c_a, c_e), in order of insertion."""
        return {key: (c_a, self.errors[key]) for key, c_a in self.appearances.items()}

    def heavy(self, delta: float) -> list[int]:
        """Keys with c_a >= (delta - epsilon) * total, in order of insertion."""
        least = (delta - self.epsilon) * self.total
        return [key for key, c_a in self.appearances.items() if c_a >= least]


class SlidingLossyCounting:
    """``counters`` (the paper's x) staggered lossy counters; the one with most history answers.

    That one holds between window and window * x / (x - 1) tuples, except at the start (the paper's
    footnote 2). Timeline for window = 4, x = 3, so stagger 2; ``|`` empties a counter:

        tuple      0 1 2 3 4 5 6 7 8 9
        counter 0 |* * * * * *|. . . .       * it answers
        counter 1  . .|. . . .|* *|. .       . it is being built
        counter 2  . . . .|. . . .|* *
    """

    def __init__(self, epsilon: float, window: int, counters: int = 3) -> None:
        if counters < 2 or window < 1 or window % (counters - 1):
            raise ValueError(
                f"window is {window}; expected a multiple of counters - 1 = {counters - 1}"
            )
        self.epsilon = epsilon
        self.stagger = window // (counters - 1)
        self.tuples = 0
        self.counters = [LossyCounting(epsilon) for _ in range(counters)]
        self.emptied_at = [0] * counters  # all start empty; the lowest number answers at first

    def update(self, key: int, weight: float = 1.0) -> None:
        """Count one tuple in every counter, after emptying the one whose turn it is."""
        t = self.tuples
        if t % self.stagger == 0:
            turn = t // self.stagger % len(self.counters)
            self.counters[turn] = LossyCounting(self.epsilon)
            self.emptied_at[turn] = t
        for counter in self.counters:
            counter.update(key, weight)
        self.tuples += 1

    def active_number(self) -> int:
        """The number of the counter that was emptied longest ago."""
        return self.emptied_at.index(min(self.emptied_at))

    def active(self) -> LossyCounting:
        """The counter that answers now."""
        return self.counters[self.active_number()]

    def held(self) -> int:
        """How many tuples the answering counter has counted."""
        return self.tuples - self.emptied_at[self.active_number()]

    def count(self, key: int) -> float:
        """The answering counter's count."""
        return self.active().count(key)

    def tracked(self) -> dict[int, tuple[float, int]]:
        """The answering counter's keys."""
        return self.active().tracked()

    def heavy(self, delta: float) -> list[int]:
        """The answering counter's heavy keys."""
        return self.active().heavy(delta)
