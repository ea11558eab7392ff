"""The catalogue: every scheme by name. A new scheme is one line here."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from unskew.errors import UnknownNameError
from unskew.grouping.base import Grouping
from unskew.grouping.d_choices import DChoices
from unskew.grouping.key import KeyGrouping
from unskew.grouping.pkg import PartialKeyGrouping
from unskew.grouping.round_robin import RoundRobin
from unskew.grouping.shuffle import ShuffleGrouping
from unskew.grouping.two_choices import TwoChoices
from unskew.grouping.w_choices import WChoices

CATALOG: dict[str, type[Grouping]] = {
    "key": KeyGrouping,
    "shuffle": ShuffleGrouping,
    "two-choices": TwoChoices,
    "pkg": PartialKeyGrouping,
    "d-choices": DChoices,
    "w-choices": WChoices,
    "round-robin": RoundRobin,
}


def groupings() -> tuple[str, ...]:
    """Return the names of all schemes.

    >>> groupings()
    ('key', 'shuffle', 'two-choices', 'pkg', 'd-choices', 'w-choices', 'round-robin')
    """
    return tuple(CATALOG)


def grouping(name: str, n_workers: int, **parameters: Any) -> Grouping:
    """Return a grouping by the name of its scheme.

    >>> grouping("pkg", n_workers=100)
    PartialKeyGrouping(n_workers=100, seed=0)
    """
    scheme = CATALOG.get(name)
    if scheme is None:
        raise UnknownNameError("grouping", name, CATALOG)
    known = [field.name for field in dataclasses.fields(scheme) if field.name != "n_workers"]
    for parameter in parameters:
        if parameter not in known:
            raise UnknownNameError(f"parameter of {name!r}", parameter, known)
    return scheme(n_workers, **parameters)


def warm_up() -> None:
    """Route once with every scheme, so that all kernels are compiled, cached and loaded.

    For the one process that starts others: what is in memory when it forks, they have.
    """
    one = np.zeros(1, np.uint64)
    for scheme in CATALOG.values():
        scheme(2).build().route(one)
