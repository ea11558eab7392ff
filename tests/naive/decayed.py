"""Epoch-based key frequency statistics: FISH sec. 4.1.1, Alg. 1."""

from __future__ import annotations

from .space_saving import SpaceSaving


class DecayedSpaceSaving(SpaceSaving):
    """SpaceSaving whose past fades by ``decay`` (alpha) every ``epoch`` (N_epoch) tuples.

    Deviation from Alg. 1, which decays the counters only: errors and the total that counts are
    compared with decay alike (papers/README.md). The counter counts tuples, whatever their weight.

    >>> sketch = DecayedSpaceSaving(capacity=4, epoch=2, decay=0.5)
    >>> for key in (1, 1, 2):
    ...     sketch.update(key)
    >>> sketch.tracked(), sketch.total
    ({1: (1.0, 0.0), 2: (1.0, 0.0)}, 2.0)
    """

    def __init__(self, capacity: int, epoch: int, decay: float) -> None:
        super().__init__(capacity)
        self.epoch = epoch
        self.decay = decay
        self.counter = 0

    def update(self, key: int, weight: float = 1.0) -> None:
        """Close the epoch if it is full, then count one tuple."""
        if self.counter == self.epoch:
            self.counts = [count * self.decay for count in self.counts]
            self.errors = [error * self.decay for error in self.errors]
            self.total *= self.decay
            self.counter = 0
        super().update(key, weight)
        self.counter += 1
