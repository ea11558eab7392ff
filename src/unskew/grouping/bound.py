"""What the schemes with a bound on load share: epsilon, the bound, and when a worker has room.

CG sec. 4.2 and 5.1: no worker is to have more than the ceiling of (1 + epsilon) times the average
load, the tuple being placed included. A worker has room while its load lies below (1 + epsilon)
times the average. For tuples that weigh 1 that is the same, since a whole number below x is at
most the ceiling of x less 1; for others it does not depend on the unit of the weights, and a
worker ends up above the bound by less than the tuple that it took last.

Some worker always has room, because epsilon is above 0 and the loads add up to the total. Only
while all tuples so far weigh nothing has none; they cost nothing either, and stay with the worker
they look at first.

Loads never shrink. So a worker found full stays full until the bound has passed its load, and what
was found out about full workers can be kept with the least of their loads: it holds while the bound
is not above it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unskew._kernel import elementwise
from unskew.errors import InvalidParameterError

EPSILON = 0.01
"""CG sec. 7.2 settles on this as the middle ground between imbalance and memory (fig. 5)."""
MIN_EPSILON, MAX_EPSILON = 1e-9, 1e9
"""Below this, rounding decides; above, a bound means nothing for any number of workers."""
UNKNOWN = -1.0
"""Below any bound: nothing was found out yet."""


@elementwise
def bound_on(total: float, weight: float, epsilon: float, capacity: float) -> float:
    """Return the bound on load for a worker of capacity 1, with the tuple that is being placed."""
    return (1.0 + epsilon) * (total + weight) / capacity


def check_epsilon(epsilon: Any) -> float:
    """Return epsilon as a Python float; refuse what is not above 0."""
    is_number = isinstance(epsilon, int | float | np.integer | np.floating)
    if not is_number or isinstance(epsilon, bool) or not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        raise InvalidParameterError(
            "epsilon",
            epsilon,
            f"a number above 0, from {MIN_EPSILON:g} to {MAX_EPSILON:g}: how far above the average "
            "a load may be",
        )
    return float(epsilon)
