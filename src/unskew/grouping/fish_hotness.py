"""How many candidates a key has, by how hot it has been of late: Alg. 1 and CHK, Alg. 2 of FISH.

Counters fade from epoch to epoch (`unskew.sketch.decayed`). A key is hot when it has more than
theta of all that was counted, and then has n / 2**floor(log2(f_top / f_k)) candidates, at least
d_min, and not fewer than before (M_k) as long as it has a counter. A key that is not hot has two.

Where this departs from Alg. 2:

- A key is hot by what it surely had before this tuple: its count less this tuple, and less what it
  took over from another key with its counter. As printed, the first tuple of any key makes it hot
  while theta of the total is less than one tuple: for n = 128 in the first quarter of every epoch.
  On Zipf 1.0 that spread the tail over twice as many workers.
- M_k as printed is kept for every key that ever was hot. It goes when its key loses its counter.
- d_min is "related to the sum of the frequency of all hot keys", and that is all FISH says. Here it
  is what the average hot key needs: n times the sum of their shares, divided by their number,
  rounded down and at least 2; worked out anew at the end of each epoch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unskew._kernel import inlined
from unskew.sketch.decayed import fade
from unskew.sketch.space_saving import Summary
from unskew.typing import KeyHashes

TAIL_CHOICES = 2


class Rules(NamedTuple):
    """The settings that kernels see."""

    theta: float
    epoch: int
    decay: float
    least_choices: int
    """d_min; 0 if it follows from the counts."""


class Hotness(NamedTuple):
    """What Alg. 1 and 2 know besides the counters; arrays of one number, or of one a counter."""

    keys: KeyHashes
    """Whose ``choices`` are kept."""
    choices: npt.NDArray[np.int64]
    """M_k: the most candidates that a key has had; 0 if it has not been hot."""
    top: npt.NDArray[np.float64]
    """f_top, the highest count."""
    least_choices: npt.NDArray[np.int64]
    """d_min."""
    position: npt.NDArray[np.int64]
    """How many tuples of this epoch have come."""


def new_hotness(counters: int, least_choices: int) -> Hotness:
    """Return what is known before the first tuple."""
    return Hotness(
        keys=np.zeros(counters, np.uint64),
        choices=np.zeros(counters, np.int64),
        top=np.zeros(1),
        least_choices=np.full(1, least_choices, np.int64),
        position=np.zeros(1, np.int64),
    )


@inlined
def end_epoch(summary: Summary, hotness: Hotness, rules: Rules, n: int) -> None:
    """Work out d_min, and let all counts fade."""
    hot, together = 0, 0.0
    for slot in range(summary.size[0]):
        if summary.counts[slot] - summary.errors[slot] > rules.theta * summary.total[0]:
            hot += 1
            together += summary.counts[slot]
    if rules.least_choices == 0 and hot > 0:
        needed = int(n * together / summary.total[0] / hot)
        hotness.least_choices[0] = min(max(TAIL_CHOICES, needed), n)
    fade(summary, rules.decay)
    hotness.top[0] *= rules.decay
    hotness.position[0] = 0


@inlined
def choices_of(
    summary: Summary, hotness: Hotness, rules: Rules, slot: np.int64, key: np.uint64,
    weight: float, n: int,
) -> np.int64:  # fmt: skip
    """Return how many candidates a key has, just after one of its tuples was counted."""
    if hotness.keys[slot] != key:
        hotness.keys[slot] = key
        hotness.choices[slot] = 0
    count = summary.counts[slot]
    hotness.top[0] = max(hotness.top[0], count)
    d = np.int64(TAIL_CHOICES)
    if count - summary.errors[slot] - weight > rules.theta * summary.total[0]:
        d = np.int64(n)
        while 2.0 * count <= hotness.top[0]:
            count *= 2.0
            d >>= 1
        d = max(d, hotness.least_choices[0], hotness.choices[slot])
        hotness.choices[slot] = d
    return d
