"""The router stage: a worker for every row, from eight bytes of it.

The JVM hashes the keys, an Arrow iterator UDF routes the hashes, and the row itself never leaves
the JVM. The source of a router is its task's partition id, so a task that runs again routes the
same rows in the same way, on any executor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from unskew.errors import BrokenLawError, InvalidInputError, InvalidParameterError, InvalidTypeError
from unskew.grouping.base import Grouping, Router, Trait
from unskew.grouping.catalog import CATALOG
from unskew.grouping.catalog import grouping as grouping_by_name
from unskew.spark.frames import WORKER
from unskew.spark.replay import replayable
from unskew.spark.weight import checked_weights

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DEFAULT_GROUPING = "w-choices"


def as_grouping(
    grouping: str | Grouping, n_workers: int, capacities: Any = None, seed: int = 0
) -> Grouping:
    """Return the grouping meant, for that many workers."""
    if isinstance(grouping, Grouping):
        if grouping.n_workers != n_workers:
            raise InvalidParameterError(
                "grouping", grouping, f"one for {n_workers} workers, as asked for here"
            )
        if capacities is not None:
            raise InvalidInputError(
                "capacities", "is given beside a grouping", "give it to the grouping"
            )
        return grouping
    if not isinstance(grouping, str):
        raise InvalidTypeError(
            "grouping", f"a {type(grouping).__name__}", "pass a name, or what unskew.grouping made"
        )
    parameters = {"seed": seed} | ({} if capacities is None else {"capacities": capacities})
    return grouping_by_name(grouping, n_workers, **parameters)


def with_worker(
    df: DataFrame, grouping: Grouping, keys: list[Column], weight: Column | None = None
) -> DataFrame:
    """Add the worker of every row."""
    df = _as_rows(replayable(df, grouping))
    inputs = [F.xxhash64(*keys)] + ([] if weight is None else [weight])
    route = _plain(grouping) if weight is None else _weighted(grouping)
    # The optimizer would be free to drop or repeat a deterministic one.
    udf = F.arrow_udf(route, "int").asNondeterministic()  # type: ignore[attr-defined]
    return df.withColumn(WORKER, udf(*inputs))


def _as_rows(df: DataFrame) -> DataFrame:
    """Let generated code turn the columns of a scan into rows, by a filter that keeps them all.

    Spark 4.3 hands a UDF the columns themselves. That suits one which takes all of them; here it
    takes a key hash, and the row that waits meanwhile is put together field by field, which makes
    the shuffle a third slower.
    """
    return df.where(F.spark_partition_id() >= 0)


def _plain(grouping: Grouping) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    def route(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        router = _start(grouping)
        for hashes in batches:
            yield _routed(router, hashes, None)

    return route


def _weighted(
    grouping: Grouping,
) -> Callable[[Iterator[tuple[pa.Array, pa.Array]]], Iterator[pa.Array]]:
    def route(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        router = _start(grouping)
        for hashes, weights in batches:
            yield _routed(router, hashes, weights)

    return route


def _start(grouping: Grouping) -> Router:
    from pyspark import TaskContext

    task = TaskContext.get()
    if task is None:
        raise InvalidInputError("task", "is unknown", "route inside a Spark task")
    return grouping.build(source=task.partitionId())


def _routed(router: Router, hashes: pa.Array, weights: pa.Array | None) -> pa.Array:
    if not len(hashes):
        return pa.array([], pa.int32())
    costs = None if weights is None else checked_weights(weights)
    workers = router.route(hashes.to_numpy(), costs)
    # Spark takes ids modulo n and null as 0: behind the shuffle a wrong one would not show.
    if (
        len(workers) != len(hashes)
        or workers.min() < 0
        or workers.max() >= router.grouping.n_workers
    ):
        raise BrokenLawError("conservation", router.grouping, "a worker outside of [0, n)")
    return pa.array(workers)


def never_splitting() -> str:
    """Name the groupings that keep a key on one worker."""
    names = [
        name for name, scheme in CATALOG.items() if Trait.SPLITS_KEYS not in scheme.spec.traits
    ]
    return " or ".join(map(repr, names))
