"""unskew keeps every worker of a Spark job equally busy, whatever the keys look like."""

from unskew.errors import UnskewError
from unskew.grouping.base import Grouping, Router
from unskew.grouping.catalog import grouping, groupings
from unskew.grouping.snapshot import Snapshot
from unskew.hashing.keys import hash_keys

__all__ = ["Grouping", "Router", "Snapshot", "UnskewError", "grouping", "groupings", "hash_keys"]
__version__ = "0.1.0"
