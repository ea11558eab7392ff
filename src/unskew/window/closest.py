"""Merge the closest bins of histograms until there are few enough, one histogram after another.

Step 7 of algorithm 1 and the loop of algorithm 2 of Ben-Haim and Tom-Tov (JMLR 2010). Gaps stand
in a heap, so that n bins cost O(n log n), not n scans. Merging two bins moves both neighbours
further away: gaps only grow. So a gap in the heap may be out of date but never too large, and is
looked at again when it comes to the top.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unskew._kernel import inlined, kernel
from unskew.window.groups import Codes


class Bins(NamedTuple):
    """Histograms side by side: number i has the bins from ``offsets[i]`` to ``offsets[i + 1]``."""

    offsets: Codes
    centres: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]


def merge_closest(bins: Bins, limit: int) -> Bins:
    """Return histograms of at most ``limit`` bins; centres ascend in each of them.

    Among equal gaps the leftmost is closed first.

    >>> four = Bins(np.array([0, 4]), np.array([1.0, 5.0, 6.0, 9.0]), np.array([1, 1, 3, 1]))
    >>> merge_closest(four, 3)[1:]
    (array([1.  , 5.75, 9.  ]), array([1, 4, 1]))
    """
    sizes = np.diff(bins.offsets)
    if not (sizes > limit).any():
        return bins
    length = len(bins.centres)
    kept = Bins(bins.offsets, bins.centres.copy(), bins.counts.copy())
    heap = _Heap(np.empty(length), np.empty(length, np.int64))
    _shrink(kept, limit, np.empty(length, np.int64), heap)
    alive = kept.counts > 0
    ends = np.concatenate([[0], np.cumsum(alive)])[bins.offsets]
    return Bins(ends, kept.centres[alive], kept.counts[alive])


class _Heap(NamedTuple):
    """Gaps, the least on top, each with the bin on its left."""

    gaps: npt.NDArray[np.float64]
    bins: Codes


@inlined
def _sink(heap: _Heap, size: int, place: int, gap: float, left: int) -> None:
    """Put a gap into the heap, at a place or below it."""
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            heap.gaps[other] < heap.gaps[child]
            or (heap.gaps[other] == heap.gaps[child] and heap.bins[other] < heap.bins[child])
        ):
            child = other
        if heap.gaps[child] > gap or (heap.gaps[child] == gap and heap.bins[child] > left):
            break
        heap.gaps[place], heap.bins[place] = heap.gaps[child], heap.bins[child]
        place = child
    heap.gaps[place], heap.bins[place] = gap, left


@kernel
def _shrink(bins: Bins, limit: int, following: Codes, heap: _Heap) -> None:
    """Merge in place; a bin that was merged into the one before it is left with the count 0."""
    centres, counts = bins.centres, bins.counts
    for histogram in range(bins.offsets.shape[0] - 1):
        begin, end = bins.offsets[histogram], bins.offsets[histogram + 1]
        excess = end - begin - limit
        if excess <= 0:
            continue
        size = end - begin - 1
        for place in range(size):
            heap.gaps[place] = centres[begin + place + 1] - centres[begin + place]
            heap.bins[place] = begin + place
            following[begin + place] = begin + place + 1
        following[end - 1] = end
        for place in range(size // 2 - 1, -1, -1):
            _sink(heap, size, place, heap.gaps[place], heap.bins[place])
        while excess > 0:
            gap, left = heap.gaps[0], heap.bins[0]
            right = following[left]
            if counts[left] == 0 or right == end:  # merged away, or the last by now
                size -= 1
                gap, left = heap.gaps[size], heap.bins[size]
            elif centres[right] - centres[left] > gap:
                gap = centres[right] - centres[left]
            else:
                total = counts[left] + counts[right]
                middle = centres[left] * (counts[left] / total)
                middle += centres[right] * (counts[right] / total)
                # Rounding must not carry a bin past its neighbours.
                centres[left] = min(max(middle, centres[left]), centres[right])
                counts[left], counts[right] = total, 0
                following[left] = following[right]
                excess -= 1
                if following[left] < end:
                    gap = centres[following[left]] - centres[left]
            _sink(heap, size, 0, gap, left)
