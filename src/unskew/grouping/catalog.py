"""The catalogue: every scheme by name. A new scheme is one line here."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from unskew.errors import InvalidInputError, UnknownNameError
from unskew.grouping.base import Grouping, Trait
from unskew.grouping.bounded import BoundedLoads
from unskew.grouping.cg import ConsistentGrouping
from unskew.grouping.consistent import ConsistentHashing
from unskew.grouping.d_choices import DChoices
from unskew.grouping.explicit import Explicit
from unskew.grouping.fish import Fish
from unskew.grouping.key import KeyGrouping
from unskew.grouping.key_groups import KeyGroups
from unskew.grouping.pkg import PartialKeyGrouping
from unskew.grouping.porc import PowerOfRandomChoices
from unskew.grouping.round_robin import RoundRobin
from unskew.grouping.shuffle import ShuffleGrouping
from unskew.grouping.two_choices import TwoChoices
from unskew.grouping.w_choices import WChoices
from unskew.grouping.waterline import Waterline

CATALOG: dict[str, type[Grouping]] = {
    "key": KeyGrouping,
    "shuffle": ShuffleGrouping,
    "two-choices": TwoChoices,
    "pkg": PartialKeyGrouping,
    "d-choices": DChoices,
    "w-choices": WChoices,
    "round-robin": RoundRobin,
    "consistent": ConsistentHashing,
    "bounded": BoundedLoads,
    "porc": PowerOfRandomChoices,
    "cg": ConsistentGrouping,
    "fish": Fish,
    "explicit": Explicit,
    "key-groups": KeyGroups,
    "waterline": Waterline,
}


def groupings() -> tuple[str, ...]:
    """Return the names of all schemes.

    >>> groupings()[:4]
    ('key', 'shuffle', 'two-choices', 'pkg')
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
    if "capacities" in parameters and Trait.ELASTIC not in scheme.spec.traits:
        raise InvalidInputError(
            "capacities",
            f"is given, and {name!r} takes all workers for equally fast",
            f"leave it out, or take {' or '.join(map(repr, with_trait(Trait.ELASTIC)))}",
        )
    known = [field.name for field in dataclasses.fields(scheme) if field.name != "n_workers"]
    for parameter in parameters:
        if parameter not in known:
            raise UnknownNameError(f"parameter of {name!r}", parameter, known)
    return scheme(n_workers, **parameters)


def with_trait(trait: Trait) -> tuple[str, ...]:
    """Return the names of the schemes that have a trait.

    >>> "key" in with_trait(Trait.SPLITS_KEYS)
    False
    """
    return tuple(name for name, scheme in CATALOG.items() if trait in scheme.spec.traits)


def warm_up() -> None:
    """Route once with every scheme, so that all kernels are compiled, cached and loaded.

    For the one process that starts others: what is in memory when it forks, they have.
    """
    one = np.zeros(1, np.uint64)
    for scheme in CATALOG.values():
        scheme(2).build().route(one)
