"""The least of many numbers that only grow: the least counter, the least loaded worker.

Two ways, which always agree.

While all numbers are whole, those that equal the least are listed and used up; nothing that grows
can come among them. The list is made anew when it is used up, which lifts the least by 1. As the
least is at most sum / n, that happens at most sum / n times for O(n) each: O(1) amortized for
tuples that weigh 1.

Otherwise a heap of what each number was when last looked at. A number that grows is not moved: it
stays at its old, smaller place until it comes to the top, where it is brought up to date. Growing
costs nothing, asking O(log n) amortized.

Ties go to the lowest index whatever the history. So all of this is a cache: made anew from the
numbers, it gives the same answers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unskew._kernel import inlined, kernel

Numbers = npt.NDArray[np.float64]


class Order(NamedTuple):
    """What is known of the order of the numbers."""

    whole: npt.NDArray[np.bool_]
    """Whether the list is in use; else the heap."""
    listed: npt.NDArray[np.int32]
    span: npt.NDArray[np.int64]
    """How far the list is used up, and where it ends."""
    value: Numbers
    """What the listed numbers are."""
    heap: npt.NDArray[np.int32]
    known: Numbers


def new_order(size: int) -> Order:
    """Return the order of ``size`` whole numbers, of which nothing is known yet."""
    return Order(
        whole=np.ones(1, np.bool_),
        listed=np.zeros(size, np.int32),
        span=np.zeros(2, np.int64),
        value=np.zeros(1),
        heap=np.zeros(size, np.int32),
        known=np.zeros(size),
    )


def renew(order: Order, numbers: Numbers) -> None:
    """Start over, after numbers changed otherwise than by growing."""
    order.span[:] = 0
    order.value[0] = 0.0
    order.whole[0] = bool(np.all(numbers == np.floor(numbers)))
    if not order.whole[0]:
        use_heap(numbers, order)


@inlined
def least(numbers: Numbers, order: Order) -> np.int64:
    """Return the index of the least number, the lowest index among equals."""
    if order.whole[0]:
        index = _least_listed(numbers, order.listed, order.span, order.value)
    else:
        index = _least_in_heap(numbers, order.heap, order.known)
    return index


@inlined
def heed(weight: float, numbers: Numbers, order: Order) -> None:
    """Take note of a weight before it is added: with one that is not 1 the list ends."""
    if order.whole[0] and weight != 1.0 and weight != 0.0:
        use_heap(numbers, order)


@kernel
def use_heap(numbers: Numbers, order: Order) -> None:
    """Order the numbers by a heap from now on."""
    order.whole[0] = False
    for i in range(numbers.shape[0]):
        order.heap[i] = i
        order.known[i] = numbers[i]
    for i in range(numbers.shape[0] // 2 - 1, -1, -1):
        _sift_down(order.heap, order.known, i)


@kernel
def _least_listed(
    numbers: Numbers,
    listed: npt.NDArray[np.int32],
    span: npt.NDArray[np.int64],
    value: Numbers,
) -> np.int64:
    while True:
        for at in range(span[0], span[1]):
            if numbers[listed[at]] == value[0]:  # has not grown since it was listed
                span[0] = at
                return np.int64(listed[at])
        value[0] = numbers[0]
        for index in range(1, numbers.shape[0]):
            value[0] = min(value[0], numbers[index])
        span[0] = span[1] = 0
        for index in range(numbers.shape[0]):
            if numbers[index] == value[0]:
                listed[span[1]] = index
                span[1] += 1


@kernel
def _least_in_heap(numbers: Numbers, heap: npt.NDArray[np.int32], known: Numbers) -> np.int64:
    while True:
        top = heap[0]
        if known[top] == numbers[top]:
            return np.int64(top)
        known[top] = numbers[top]
        _sift_down(heap, known, 0)


@kernel
def _sift_down(heap: npt.NDArray[np.int32], known: Numbers, at: int) -> None:
    n = heap.shape[0]
    moved = heap[at]
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and _before(heap[child + 1], heap[child], known):
            child += 1
        if _before(moved, heap[child], known):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved


@kernel
def _before(left: int, right: int, known: Numbers) -> bool:
    return known[left] < known[right] or (known[left] == known[right] and left < right)
