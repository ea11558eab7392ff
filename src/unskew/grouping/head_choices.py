"""How many choices the head needs: the smallest d that satisfies Prop. 4.1 of 2CNE.

For every prefix p_1 >= ... >= p_h of the head, the workers that its keys can reach, b_h of n
expected, must have room for it:

    sum_{i<=h} p_i + (b_h/n)^d sum_{h<i<=|H|} p_i + (b_h/n)^2 sum_{i>|H|} p_i <= b_h (1/n + eps)

FINDOPTIMALCHOICES starts at d = p_1 * n, at least 2, and adds one until every prefix fits. From
d >= n on the head may use all workers.

Printed is b_h = n - n ((n-1)/n)^(h d), for candidates that may coincide. Those of a key are
distinct here, so h keys reach b_h = n (1 - (1 - d/n)^h) workers on average; ``distinct`` chooses.
The condition is necessary, not sufficient: balance within eps needs at least the d of the latter.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.checks import check_flag, check_share, check_whole
from unskew.errors import InvalidInputError
from unskew.hashing.candidates import MAX_WORKERS
from unskew.sketch.space_saving import Summary

Shares = npt.NDArray[np.float64]


def choices(
    head: npt.ArrayLike, n_workers: int, epsilon: float = 1e-4, *, distinct: bool = False
) -> int:
    """Return d for a head with these shares of the stream; ``n_workers`` means all workers.

    >>> choices([0.3, 0.1], n_workers=50)
    27
    """
    check_whole("n_workers", n_workers, 2, MAX_WORKERS)
    check_share("epsilon", epsilon)
    check_flag("distinct", distinct)
    shares = -np.sort(-np.asarray(head, np.float64))
    if shares.ndim != 1 or not np.all((shares > 0) & (shares <= 1)) or shares.sum() > 1 + 1e-9:
        raise InvalidInputError(
            "head",
            f"is {shares.tolist()}",
            "pass shares of the stream in (0, 1] that sum to at most 1",
        )
    return int(smallest_d(shares, len(shares), n_workers, epsilon, distinct))


@kernel
def head_shares(summary: Summary, theta: float, out: Shares) -> int:
    """Write the shares of the head to ``out``, the largest first; returns how many."""
    size = 0
    total = summary.total[0]
    for slot in range(summary.size[0]):
        if summary.counts[slot] >= theta * total:
            out[size] = summary.counts[slot] / total
            size += 1
    _sort_descending(out, size)
    return size


@kernel
def _sort_descending(values: Shares, size: int) -> None:
    """Shell sort: in place, because kernels do not allocate."""
    gap = size // 2
    while gap > 0:
        for i in range(gap, size):
            moved = values[i]
            at = i
            while at >= gap and values[at - gap] < moved:
                values[at] = values[at - gap]
                at -= gap
            values[at] = moved
        gap = gap // 2 if gap != 2 else 1


@kernel
def smallest_d(shares: Shares, size: int, n: int, epsilon: float, distinct: bool) -> int:
    """Return the smallest d that every prefix of the head allows, or n."""
    if size == 0:
        return 2
    head = 0.0
    for i in range(size):
        head += shares[i]
    d: int = max(2, math.ceil(shares[0] * n - 1e-9))
    while d < n:
        # The first key and the whole head are the tightest (sec. IV-A): most d fail there.
        fits = (
            _prefix_fits(shares[0], head, 1, d, n, epsilon, distinct)
            and _prefix_fits(head, head, size, d, n, epsilon, distinct)
        )  # fmt: skip
        prefix = shares[0]
        for h in range(2, size):
            if not fits:
                break
            prefix += shares[h - 1]
            fits = _prefix_fits(prefix, head, h, d, n, epsilon, distinct)
        if fits:
            return d
        d += 1
    return n


@kernel
def _prefix_fits(
    prefix: float, head: float, h: int, d: int, n: int, epsilon: float, distinct: bool
) -> bool:
    missed = (1.0 - d / n) ** h if distinct else ((n - 1) / n) ** (h * d)
    reached = 1.0 - missed
    needed = prefix + reached**d * (head - prefix) + reached**2 * max(0.0, 1.0 - head)
    return needed <= reached * n * (1.0 / n + epsilon)
