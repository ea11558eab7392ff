"""What a key costs its worker, how uneven workers may be, and which keys to track for that.

Gedik sec. 3.1, 4.1.3 and 4.4. A resource function says what a key of a given share of the tuples
costs; there are three resources: state, computation and communication, the last always linear.
From the imbalance tolerated (alpha) follows the share delta from which on a key must be tracked.

Where the code departs from the paper, or the paper from itself:

- Eq. 3 weighs beta_c with the frequency once more. The example of fig. 1, eq. 16 - 17 and
  sec. 4.4 (constant computation balances itself) take the load as the sum of beta_c; so do we.
- For beta = 1 the text takes |D| for the average load, which is |D| / N; delta is 1 either way.
- For quadratic functions the text calls 1 / |D| an upper bound of the whole load. It is the lower
  one, reached by even keys; so eq. 17 tracks more keys than it must, and the second step, with the
  tracked keys known, raises delta. Its prediction of the average lacks the division by N.
- Eq. 17 has three functions (4.4 asks for a case for every other). For a function that is given
  eq. 16 is solved by bisection, with both steps of the quadratic case.
- Alpha = 1 tolerates nothing: delta would be 0, and eq. 19 divides by 0. Alpha is above 1 here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from unskew.checks import check_whole
from unskew.errors import InvalidParameterError, UnknownNameError
from unskew.hashing.arrays import MAX_WEIGHT
from unskew.hashing.candidates import MAX_WORKERS
from unskew.typing import Loads

ResourceFunction: TypeAlias = str | Callable[[float], float]
"""What a key costs by its share of the tuples: a name, or a function that does not decrease.

A function of a module, not a lambda, where it is to be pickled.
"""

RESOURCES = ("state", "computation", "communication")
MAX_ALPHA, MAX_DOMAIN = 1e6, 2**63
_NAMED: dict[str, Callable[[Any], Any]] = {
    "constant": np.ones_like,
    "linear": np.positive,
    "quadratic": np.square,
}
# Where a function that is given is looked at: shares from one in a billion on.
_PROBES = np.append(0.0, np.geomspace(1e-9, 1.0, 181))


@dataclass(frozen=True, slots=True)
class Resources:
    """Resource functions, and how much imbalance is tolerated.

    >>> round(Resources().delta(n_workers=10), 6)  # eq. 17, linear state and communication
    0.001765
    """

    state: ResourceFunction = "linear"
    """What a key's state takes: linear for a window over time, constant for one over tuples."""
    computation: ResourceFunction = "constant"
    """What a key's tuples cost: quadratic for a join, where each meets all others of the key."""
    alpha: float | tuple[float, float, float] = 1.2
    """The largest over the smallest load tolerated; of state, computation and communication."""
    sigma: float = 0.1
    """How much of the imbalance tolerated is left to keys that are not tracked."""
    domain: int = 10**6
    """How many keys there are, about. Only where a function is neither constant nor linear."""

    def __post_init__(self) -> None:
        """Check all settings."""
        for name in ("state", "computation"):
            _check_function(name, getattr(self, name))
        object.__setattr__(self, "alpha", _check_alpha(self.alpha))
        object.__setattr__(self, "sigma", _check_sigma(self.sigma))
        object.__setattr__(self, "domain", check_whole("domain", self.domain, 1, MAX_DOMAIN))

    @property
    def alphas(self) -> tuple[float, float, float]:
        """The tolerance of each resource."""
        return self.alpha if isinstance(self.alpha, tuple) else (self.alpha,) * 3

    def costs(self, shares: Loads) -> Loads:
        """Return what keys of these shares cost, a row for each resource."""
        return np.stack([_evaluate(function, shares) for function in self._functions])

    def state_costs(self, shares: Loads) -> Loads:
        """Return what it costs to move keys of these shares: their state."""
        return _evaluate(self.state, shares)

    def varying(self) -> list[int]:
        """Return the resources that count for the balance penalty.

        Constant ones balance themselves, as nearly all keys are on the ring (sec. 4.4).
        """
        return [at for at, function in enumerate(self._functions) if not _is_constant(function)]

    def thetas(self, n_workers: int) -> Loads:
        """Return by which part of the average each load may be off it (eq. 15)."""
        alphas = np.array(self.alphas)
        thetas: Loads = (alphas - 1) * (n_workers - 1) / (alphas + n_workers - 1)
        return thetas

    def delta(self, n_workers: int, tracked: Loads | None = None) -> float:
        """Return the share from which on a key is tracked (eq. 16 - 17).

        With the shares of the keys ``tracked`` so far, the second step of sec. 4.1.3: what they
        cost is known then, so the average load is, better than from the number of keys alone.
        """
        n_workers = check_whole("n_workers", n_workers, 1, MAX_WORKERS)
        if n_workers == 1:
            return 1.0
        known = np.empty(0) if tracked is None else tracked
        deltas = [
            self._delta_of(function, theta / n_workers, known)
            for function, theta in zip(self._functions, self.thetas(n_workers), strict=True)
        ]
        return float(min(deltas))

    @property
    def _functions(self) -> tuple[ResourceFunction, ResourceFunction, ResourceFunction]:
        return self.state, self.computation, "linear"

    def _delta_of(self, function: ResourceFunction, tolerance: float, known: Loads) -> float:
        if _is_constant(function):
            return 1.0
        if function == "linear":
            return self.sigma * tolerance  # whatever the keys, their shares sum to 1
        rest = max(0.0, 1.0 - float(known.sum()))
        total = float(_evaluate(function, known).sum())
        total += _least_total(function, rest, max(0, self.domain - len(known)))
        limit = self.sigma * tolerance * total
        if function == "quadratic":
            return min(1.0, float(np.sqrt(limit)))
        return _largest_within(function, limit)


def _least_total(function: ResourceFunction, share: float, keys: int) -> float:
    """Return what ``keys`` keys cost at least that have ``share`` of the tuples together.

    A convex function is least for even keys, as the paper has it for quadratic ones; a concave one
    for a single key that has it all. Of a function that is neither, the lower of the two is taken.
    """
    if keys == 0:
        return 0.0
    even, all_of_it, nothing = _evaluate(function, np.array([share / keys, share, 0.0]))
    return float(min(keys * even, all_of_it + (keys - 1) * nothing))


def _largest_within(function: ResourceFunction, limit: float) -> float:
    """Return the largest share whose cost is within the limit, by bisection."""
    low, high = 0.0, 1.0
    if _evaluate(function, np.array([high]))[0] <= limit:
        return high
    while (middle := (low + high) / 2) not in (low, high) and high - low > 1e-12 * high:
        if _evaluate(function, np.array([middle]))[0] <= limit:
            low = middle
        else:
            high = middle
    return low


def _evaluate(function: ResourceFunction, shares: Loads) -> Loads:
    if isinstance(function, str):
        return np.asarray(_NAMED[function](shares), np.float64)
    return np.array([function(share) for share in shares.tolist()], np.float64)


def _is_constant(function: ResourceFunction) -> bool:
    """Tell whether all keys cost the same; what does not decrease is constant if its ends agree."""
    nothing, everything = _evaluate(function, np.array([0.0, 1.0]))
    return bool(nothing == everything)


def _check_function(name: str, function: Any) -> None:
    if isinstance(function, str):
        if function not in _NAMED:
            raise UnknownNameError(f"resource function of {name}", function, _NAMED)
        return
    if not callable(function):
        raise InvalidParameterError(name, function, f"a function, or one of {', '.join(_NAMED)}")
    try:
        found = _evaluate(function, _PROBES)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InvalidParameterError(
            name, function, f"a function that gives a number for every share in [0, 1] ({error})"
        ) from error
    if not np.all((found >= 0) & (found <= MAX_WEIGHT)) or found[-1] == 0:
        raise InvalidParameterError(
            name,
            function,
            f"a function that gives 0 to {MAX_WEIGHT:g}, and more than 0 for a share of 1",
        )
    falls = np.flatnonzero(np.diff(found) < 0)
    if falls.size:
        at = falls[0]
        raise InvalidParameterError(
            name,
            function,
            f"a function that does not decrease; at {_PROBES[at]:.3g} it is {found[at]:.3g}, "
            f"at {_PROBES[at + 1]:.3g} only {found[at + 1]:.3g}",
        )


def _check_alpha(alpha: Any) -> float | tuple[float, float, float]:
    each = tuple(alpha) if isinstance(alpha, tuple | list) else (alpha,) * 3
    is_number = all(
        isinstance(one, int | float | np.number) and not isinstance(one, bool) for one in each
    )
    if len(each) != 3 or not is_number or not all(1 < one <= MAX_ALPHA for one in each):
        raise InvalidParameterError(
            "alpha", alpha, f"a number above 1, at most {MAX_ALPHA:g}, or one for each of the three"
        )
    state, computation, communication = map(float, each)
    return state if isinstance(alpha, float | int) else (state, computation, communication)


def _check_sigma(sigma: Any) -> float:
    is_number = isinstance(sigma, int | float | np.number) and not isinstance(sigma, bool)
    if not is_number or not 0 < sigma <= 1:
        raise InvalidParameterError("sigma", sigma, "a number in (0, 1]")
    return float(sigma)
