"""The command line: ``unskew --help``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

import unskew
from unskew.cli.advise import advise
from unskew.cli.compare import compare
from unskew.cli.demo import demo
from unskew.cli.doctor import doctor
from unskew.cli.groupings import list_groupings
from unskew.cli.report import report
from unskew.errors import UnskewError

__all__ = ["app", "main"]

app = typer.Typer(
    name="unskew",
    help="Keep every worker of a Spark job equally busy, whatever the keys look like.",
    epilog="Example: unskew report orders.parquet --key customer",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
# A line each, so that the list is read at a glance.
app.command("demo", short_help="Run a skewed job on Spark, without unskew and with it.")(demo)
app.command("report", short_help="Show the hot keys of a data set, and what they cost.")(report)
app.command("advise", short_help="Say which grouping suits a data set, and why.")(advise)
app.command("doctor", short_help="Check that Spark and unskew can work here.")(doctor)
app.command("compare", short_help="Compare the groupings on a made-up stream.")(compare)
app.command("groupings", short_help="List the groupings, and where they come from.")(list_groupings)


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
        line = " ".join(str(error).split("\n"))
        Console(stderr=True, highlight=False, soft_wrap=True).print(line, markup=False)
        sys.exit(2)
