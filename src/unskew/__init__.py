"""unskew keeps every worker of a Spark job equally busy, whatever the keys look like."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from unskew.errors import UnskewError
from unskew.grouping.base import Grouping, Router
from unskew.grouping.catalog import grouping, groupings
from unskew.grouping.snapshot import Snapshot
from unskew.hashing.keys import hash_keys

if TYPE_CHECKING:
    from unskew.spark.advise import advise
    from unskew.spark.group_by import group_by
    from unskew.spark.repartition import repartition
    from unskew.spark.report import skew_report
    from unskew.spark.write import write_balanced

__all__ = [
    "Grouping",
    "Router",
    "Snapshot",
    "UnskewError",
    "advise",
    "group_by",
    "grouping",
    "groupings",
    "hash_keys",
    "repartition",
    "skew_report",
    "write_balanced",
]
__version__ = "0.1.0"

# What needs Spark is imported when first asked for: a Python worker imports this package too.
_ON_SPARK = {
    "advise": "unskew.spark.advise",
    "group_by": "unskew.spark.group_by",
    "repartition": "unskew.spark.repartition",
    "skew_report": "unskew.spark.report",
    "write_balanced": "unskew.spark.write",
}


def __getattr__(name: str) -> Any:
    if name in _ON_SPARK:
        return getattr(importlib.import_module(_ON_SPARK[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
