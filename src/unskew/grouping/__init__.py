"""Groupings: schemes that give every tuple a worker, one scheme a file."""

from unskew.grouping.base import Grouping, GroupingSpec, Router, Trait
from unskew.grouping.bounded import BoundedLoads
from unskew.grouping.catalog import CATALOG, grouping, groupings
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
from unskew.grouping.snapshot import Snapshot
from unskew.grouping.two_choices import TwoChoices
from unskew.grouping.w_choices import WChoices
from unskew.grouping.waterline import Waterline

__all__ = [
    "CATALOG",
    "BoundedLoads",
    "ConsistentGrouping",
    "ConsistentHashing",
    "DChoices",
    "Explicit",
    "Fish",
    "Grouping",
    "GroupingSpec",
    "KeyGrouping",
    "KeyGroups",
    "PartialKeyGrouping",
    "PowerOfRandomChoices",
    "RoundRobin",
    "Router",
    "ShuffleGrouping",
    "Snapshot",
    "Trait",
    "TwoChoices",
    "WChoices",
    "Waterline",
    "grouping",
    "groupings",
]
