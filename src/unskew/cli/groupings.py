"""``unskew groupings``: the catalogue as a table."""

from __future__ import annotations

import inspect

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unskew.grouping.base import Trait
from unskew.grouping.catalog import CATALOG


def list_groupings() -> None:
    """List every grouping: what it does, where it comes from, whether it splits keys.

    Example: unskew groupings
    """
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("name", "what it does", "paper", "splits keys"):
        table.add_column(column, no_wrap=column == "name")
    for name, scheme in CATALOG.items():
        summary = (inspect.getdoc(scheme) or "").splitlines()[0].replace(" [1]_", "")
        splits = "yes" if Trait.SPLITS_KEYS in scheme.spec.traits else "no"
        table.add_row(name, Text(summary), scheme.spec.cites, splits)
    Console().print(table)
