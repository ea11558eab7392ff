"""``unskew report``: the hot keys of a data set, and what their skew costs."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unskew.cli.compare import bars
from unskew.cli.data import Data, DataArgument, FormatOption, KeyOption, SplitOption, find_data
from unskew.cli.output import JsonOption, SaveOption, plain, print_json, require_plot
from unskew.cli.session import local_spark, progress

if TYPE_CHECKING:
    from unskew.spark.report import Skew

_EVEN = 1.1
_LONGEST_KEY = 40


def report(
    data: DataArgument,
    key: KeyOption = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Partitions of the shuffle: spark.sql.shuffle.partitions.")
    ] = 200,
    top: Annotated[int, typer.Option(min=1, help="How many keys to show.")] = 20,
    format: FormatOption = None,  # noqa: A002 - named after the option
    split: SplitOption = False,
    json: JsonOption = False,
    save: SaveOption = None,
) -> None:
    """Show the hottest keys, the partitions they land on, and what the skew costs.

    The counts are exact, and the partitions those of Spark's own hash.

    Example: unskew report orders.parquet --key customer --workers 200
    """
    require_plot(save)
    found = find_data(data, format, split=split)
    keys = found.keys(key)
    skew = _measured(found, keys, workers, top)
    if json:
        print_json(_as_json(skew, data, keys))
    else:
        _show(Console(), skew, found, keys)
    if save is not None:
        _plot(save, skew, keys)


def _measured(found: Data, keys: list[str], workers: int, top: int) -> Skew:
    with progress("starting Spark") as say, local_spark(found.size) as spark:
        from unskew.spark.frames import require_batch, resolve
        from unskew.spark.report import measure

        say(f"reading {found.path}")
        frame = found.read(spark)
        require_batch(frame, "report")
        columns = resolve(frame, keys)
        say("counting keys")
        return measure(frame, columns, workers, top)


def _as_json(skew: Skew, data: Path, keys: list[str]) -> dict[str, object]:
    return {
        "data": str(data),
        "keys": keys,
        "rows": skew.rows,
        "workers": len(skew.loads),
        "max_load": int(skew.loads.max()),
        "average_load": skew.average_load,
        "slowdown": skew.slowdown,
        "hot_keys": [
            {
                "key": dict(zip(keys, values, strict=True)),
                "count": int(count),
                "share": count / skew.rows,
                "partition": int(partition),
                "partition_load": skew.loads[partition] / skew.average_load,
            }
            for values, count, partition in _rows(skew)
        ],
    }


def _rows(skew: Skew) -> list[tuple[tuple[Any, ...], Any, Any]]:
    columns = [_values(column) for column in skew.keys.columns]
    values = zip(*columns, strict=True)
    return list(zip(values, skew.counts.tolist(), skew.partitions.tolist(), strict=True))


def _values(column: Any) -> list[Any]:
    """Give the values of a column; of strings that are not UTF-8, what can be read of them."""
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        raw = column.cast("binary").to_pylist()
        return [each if each is None else each.decode(errors="replace") for each in raw]


def _show(console: Console, skew: Skew, data: Data, keys: list[str]) -> None:
    by = ", ".join(keys)
    console.print(
        f"{data.path}: {skew.rows:,} rows by {by}, "
        f"on {len(skew.loads):,} partitions by Spark's hash.",
        highlight=False, soft_wrap=True, markup=False,
    )  # fmt: skip
    if not skew.rows:
        return
    console.print(_table(skew, keys))
    console.print("rows by partition, fullest first: ", _bars(skew), sep="")
    console.print(_verdict(skew, data, keys), highlight=False, soft_wrap=True, markup=False)


def _table(skew: Skew, keys: list[str]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        caption="load: rows of the partition over the average of all partitions",
        caption_justify="left",
    )
    for name in keys:
        table.add_column(Text(name), no_wrap=True, max_width=_LONGEST_KEY)
    for title in ("rows", "share", "partition", "load"):
        table.add_column(title, justify="right", no_wrap=True)
    for values, count, partition in _rows(skew):
        load = skew.loads[partition] / skew.average_load
        table.add_row(
            *map(_shown, values),
            f"{count:,}",
            f"{count / skew.rows:.2%}",
            str(partition),
            f"[{_colour(load)}]{load:.2f}[/]",
        )
    return table


def _shown(value: object) -> Text:
    if value is None:
        return Text("null", style="dim")
    if isinstance(value, str):
        return Text(value if value and value.isprintable() else repr(value))
    return Text(str(plain(value)))


def _colour(load: float) -> str:
    return "green" if load < _EVEN else "yellow" if load < 2 else "red"


def _bars(skew: Skew) -> Text:
    return Text(bars(skew.loads, float(skew.loads.max())), style=_colour(skew.slowdown))


def _verdict(skew: Skew, data: Data, keys: list[str]) -> str:
    fullest = (
        f"The fullest partition has {int(skew.loads.max()):,} rows, {skew.slowdown:.2f} times the "
        f"average of {skew.average_load:,.0f}"
    )
    if skew.slowdown < _EVEN:
        return f"{fullest}: even, nothing to do."
    command = shlex.join(
        ["unskew", "advise", *data.arguments, *(word for key in keys for word in ("--key", key))]
    )
    return (
        f"{fullest}: a stage by this key takes {skew.slowdown:.2f} times as long as it could.\n"
        f"What to do: {command} --workers {max(2, len(skew.loads))}"
    )


def _plot(file: Path, skew: Skew, keys: list[str]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    order = np.argsort(-skew.loads, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    axes.fill_between(np.arange(len(order)), skew.loads[order], step="mid", color="tab:red")
    axes.axhline(skew.average_load, color="black", linewidth=1, linestyle="--", label="average")
    for values, _, partition in _rows(skew)[:5]:
        label = ", ".join(str(_shown(value))[:_LONGEST_KEY] for value in values)
        # Keys may hold dollar signs, which matplotlib would take for formulas.
        axes.annotate(
            label, (rank[partition], skew.loads[partition]), (6, 0), parse_math=False,
            textcoords="offset points", va="center", fontsize=8,
        )  # fmt: skip
    axes.set_xlabel(
        f"partitions by Spark's hash of {', '.join(keys)}, fullest first", parse_math=False
    )
    axes.set_ylabel("rows")
    axes.set_ylim(bottom=0)
    axes.set_title(f"The fullest partition has {skew.slowdown:.2f} times the average")
    axes.legend()
    with warnings.catch_warnings():
        # Of letters that the font lacks, and draws as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(file)
