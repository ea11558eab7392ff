"""Tables of results, for the terminal and for the documentation."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table as RichTable


@dataclass
class Table:
    """A titled table; the first column holds names, the others figures."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """Append a row."""
        self.rows.append(tuple(str(cell) for cell in cells))

    def show(self, console: Console) -> None:
        """Print the table."""
        table = RichTable(title=self.title, title_justify="left", box=box.SIMPLE_HEAD)
        for position, column in enumerate(self.columns):
            table.add_column(column, justify="right" if position else "left")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)

    def markdown(self) -> str:
        """Return the table as Markdown."""
        ruler = ("---", *("---:" for _ in self.columns[1:]))
        lines = (self.columns, ruler, *self.rows)
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def met(reached: bool) -> str:
    """Return the word for a target that is met or missed."""
    return "met" if reached else "**missed**"
