"""The command line: ``unskew --help``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

import unskew
from unskew.cli.demo import demo
from unskew.cli.groupings import list_groupings
from unskew.errors import UnskewError

__all__ = ["app", "main"]

app = typer.Typer(
    name="unskew",
    help="Keep every worker of a Spark job equally busy, whatever the keys look like.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo)
app.command("groupings")(list_groupings)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"unskew {unskew.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; what a user did wrong is one line, without a traceback."""
    try:
        app()
    except UnskewError as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(str(error), markup=False)
        sys.exit(2)
