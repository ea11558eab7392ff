"""``unskew advise``: which grouping would finish a job soonest."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unskew.cli.data import Data, DataArgument, FormatOption, KeyOption, SplitOption, find_data
from unskew.cli.output import JsonOption, SaveOption, print_json, require_plot
from unskew.cli.session import local_spark, progress
from unskew.control.advice import Advice, CostModel

if TYPE_CHECKING:
    from unskew.spark.advise import Advised


def advise(
    data: DataArgument,
    key: KeyOption = None,
    workers: Annotated[int, typer.Option(min=2, help="Workers to spread the rows over.")] = 200,
    weight: Annotated[
        str | None,
        typer.Option(help="A column that says what a row costs.", show_default=False),
    ] = None,
    merge_cost: Annotated[
        float, typer.Option(min=0, help="Cost of merging a partial, over that of a row's work.")
    ] = 1.0,
    sample: Annotated[int, typer.Option(min=100, help="About how many rows to sample.")] = 200_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample and the groupings.")] = 0,
    format: FormatOption = None,  # noqa: A002 - named after the option
    split: SplitOption = False,
    json: JsonOption = False,
    save: SaveOption = None,
) -> None:
    """Route a sample with every grouping, and say which one to take, and why.

    Example: unskew advise orders.parquet --key customer --workers 64
    """
    require_plot(save)
    found = find_data(data, format, split=split)
    keys = found.keys(key)
    found.require([] if weight is None else [weight])
    options = {"workers": workers, "weight": weight, "sample": sample, "seed": seed}
    advised = _advised(found, keys, {**options, "costs": CostModel(merge_cost)})
    if json:
        print_json(_as_json(advised, data, keys))
    else:
        _show(Console(), advised, data, keys)
    if save is not None:
        _plot(save, advised)


def _advised(found: Data, keys: list[str], options: dict[str, Any]) -> Advised:
    with progress("starting Spark") as say, local_spark(found.size) as spark:
        from unskew.spark.advise import advise_rows

        say(f"reading {found.path}")
        frame = found.read(spark)
        say("sampling, and routing the sample")
        return advise_rows(frame, *keys, **options)


def _as_json(advised: Advised, data: Path, keys: list[str]) -> dict[str, object]:
    return {
        "data": str(data),
        "keys": keys,
        "workers": advised.workers,
        "rows": advised.rows,
        "sampled": advised.sampled,
        "recommended": advised.advice[0].grouping,
        "groupings": [asdict(each) for each in advised.advice],
    }


def _show(console: Console, advised: Advised, data: Path, keys: list[str]) -> None:
    best = advised.advice[0]
    whole = advised.sampled == advised.rows
    about = f"{advised.rows:,} rows" if whole else f"{_round(advised.rows):,} rows, about"
    console.print(
        f"{data}: {about}, by {', '.join(keys)} on {advised.workers:,} workers"
        f"{'' if whole else f'; judged by a sample of {advised.sampled:,}'}.",
        highlight=False, soft_wrap=True, markup=False,
    )  # fmt: skip
    console.print(_table(advised.advice))
    console.print(
        f"Take {best.grouping!r}. {best.reason}", highlight=False, soft_wrap=True, markup=False
    )
    if best.splits_keys:
        console.print(
            "It splits keys, so their partials must be merged. Plain sums and counts need none of "
            "this: Spark combines them before it shuffles.",
            highlight=False, soft_wrap=True,
        )  # fmt: skip


def _round(rows: int) -> int:
    """Give three digits, as the number of rows is estimated from those that were kept."""
    return int(float(f"{rows:.3g}"))


def _table(advice: list[Advice]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        caption="busiest: its load over the average; replicas: on how many workers a key is; "
        "time: estimated, over that of an ideal job",
        caption_justify="left",
    )
    table.add_column("grouping", no_wrap=True)
    for title in ("busiest", "replicas", "time"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("why, or why not")
    for each in advice:
        figures = (each.imbalance, each.replication, each.estimated_time)
        table.add_row(
            each.grouping,
            *("-" if figure is None else f"{figure:.2f}" for figure in figures),
            Text(each.reason),
            style="bold green" if each.recommended else None,
        )
    return table


def _plot(file: Path, advised: Advised) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    shown = [each for each in advised.advice[::-1] if each.estimated_time is not None]
    bars = axes.barh(
        [each.grouping for each in shown],
        [each.estimated_time or 0 for each in shown],
        color=["tab:green" if each.recommended else "tab:gray" for each in shown],
    )
    axes.bar_label(bars, fmt="%.2f", padding=3)
    axes.axvline(1, color="black", linewidth=1, linestyle="--", label="ideal")
    axes.set_xlabel("estimated time of the job over that of an ideal one")
    axes.set_title(f"{advised.advice[0].grouping} is recommended, on {advised.workers} workers")
    axes.legend()
    figure.savefig(file)
