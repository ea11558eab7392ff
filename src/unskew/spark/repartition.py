"""Even partitions: a drop-in for ``df.repartition(n, *keys)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from unskew.checks import check_capacities, check_flag, check_whole
from unskew.grouping.base import Grouping
from unskew.hashing.candidates import MAX_WORKERS
from unskew.spark.frames import WORKER, require_batch, require_groupable, resolve
from unskew.spark.route import DEFAULT_GROUPING, as_grouping, with_worker
from unskew.spark.weight import weight_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame


def repartition(
    df: DataFrame,
    n: int,
    *keys: str | Column,
    grouping: str | Grouping = DEFAULT_GROUPING,
    weight: str | Column | None = None,
    capacities: Sequence[float] | None = None,
    keep_worker: bool = False,
) -> DataFrame:
    """Spread a frame over ``n`` partitions: even ones, with each key on few of them.

    ``df.repartition(n, *keys)`` puts all rows of a key into one partition, however many there are.

    Parameters
    ----------
    df
        A batch frame, on Classic or Connect. Nothing runs before an action.
    n
        The number of partitions.
    keys
        Columns, by name or as expressions.
    grouping
        How rows find their partition: a name of `unskew.groupings`, or a grouping for ``n``
        workers. With one that does not split keys, such as ``"key"``, all rows of a key are in one
        partition.
    weight
        What a row costs, where rows do not cost the same: a number from 0 up.
    capacities
        The relative speeds of the workers, one for each partition, where the grouping takes them;
        one that takes all workers for equally fast refuses them.
    keep_worker
        Keep the column ``_unskew_worker``. A ``groupBy`` on it and the keys needs no second
        shuffle.
    """
    require_batch(df, "repartition")
    check_flag("keep_worker", keep_worker)
    n = check_whole("n", n, 1, MAX_WORKERS)
    columns = resolve(df, keys)
    require_groupable(df, columns)
    cost = None if weight is None else weight_column(df, weight)
    if n == 1:  # no choice to make
        _check_for_one(grouping, capacities)
        spread = df.withColumn(WORKER, F.lit(0)).repartitionById(1, WORKER)
    else:
        chosen = as_grouping(grouping, n, capacities)
        spread = with_worker(df, chosen, columns, cost).repartitionById(n, WORKER)
    return spread if keep_worker else spread.drop(WORKER)


def _check_for_one(grouping: str | Grouping, capacities: Sequence[float] | None) -> None:
    """Refuse what is refused for more workers: of one alone, no grouping can be made."""
    speeds = check_capacities(capacities, 1)
    if isinstance(grouping, str):
        as_grouping(grouping, 2, speeds and (*speeds, 1.0))
    else:
        as_grouping(grouping, 1, capacities)
