"""What a source infers of the workers, without asking them: eq. 1 and 2 of FISH, sec. 4.2.

A source knows what it has given each worker, how long a tuple takes there on average, from samples,
and how much time has passed. What is left is the backlog.

As printed, Alg. 3 line 7 and eq. 1 add N_w to C_w, to which line 18 has added it already: here a
tuple counts once. And they take off T, though the last time may be many T ago: here it is the time
that has passed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.sketch.least import Order, new_order, use_heap
from unskew.typing import Loads

MIN_SERVICE, MAX_SERVICE = 1e-12, 1e9
"""Seconds for a tuple; a number outside is an error in the unit."""


class Inferred(NamedTuple):
    """What is known of the workers, counted from the source's first worker on."""

    backlog: Loads
    """C_w, in tuples of weight 1."""
    service: Loads
    """P_w, the time for one of them."""
    waiting: Loads
    """T_w = C_w * P_w (eq. 2)."""
    order: Order
    clock: npt.NDArray[np.float64]
    """1 if a time has been seen, else 0; and t_pri, until when work was taken off the backlog."""


def new_inferred(n_workers: int) -> Inferred:
    """Return what is known before the first tuple."""
    numbers = (np.zeros(n_workers), np.ones(n_workers), np.zeros(n_workers))
    return Inferred(*numbers, new_order(n_workers), np.zeros(2))


@kernel
def work_off(inferred: Inferred, now: float) -> None:
    """Take off the backlog what the time since then was enough for; times are no longer whole."""
    elapsed = now - inferred.clock[1]
    for worker in range(inferred.backlog.shape[0]):
        left = max(0.0, inferred.waiting[worker] - elapsed)
        inferred.backlog[worker] = left / inferred.service[worker]
        inferred.waiting[worker] = inferred.backlog[worker] * inferred.service[worker]
    inferred.clock[1] = now
    use_heap(inferred.waiting, inferred.order)


def are_possible(service_times: Loads) -> npt.NDArray[np.bool_]:
    """Tell which numbers may be the service time of a worker."""
    return (service_times >= MIN_SERVICE) & (service_times <= MAX_SERVICE)


def as_service_times(service_times: Any, n_workers: int) -> Loads:
    """Return the service time of each worker; refuse anything else."""
    try:
        array = np.asarray(service_times)
    except ValueError:  # lists of different lengths
        array = np.empty(0, object)
    if array.dtype.kind not in "iuf":
        raise InvalidTypeError(
            "service_times",
            f"a {type(service_times).__name__}",
            "pass one number for each worker",
        )
    if array.shape != (n_workers,):
        raise InvalidInputError(
            "service_times",
            f"has the shape {array.shape}",
            f"pass one for each of {n_workers} workers",
        )
    times: Loads = array.astype(np.float64)
    wrong = np.flatnonzero(~are_possible(times))
    if wrong.size:
        raise InvalidInputError(
            "service_times",
            f"is {times[wrong[0]]} for worker {wrong[0]}",
            f"pass seconds from {MIN_SERVICE:g} to {MAX_SERVICE:g}",
        )
    return times
