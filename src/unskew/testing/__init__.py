"""The laws of groupings, as checks that anyone who writes a grouping can run."""

from unskew.testing.contract import check_grouping

__all__ = ["check_grouping"]
