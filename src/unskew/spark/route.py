"""The router stage: a worker for every row, from eight bytes of it.

The JVM hashes the keys, an Arrow iterator UDF routes the hashes, and the row itself never leaves
the JVM. The source of a router is its task's partition id, so a task that runs again routes the
same rows in the same way, on any executor.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from unskew.errors import BrokenLawError, InvalidInputError, InvalidParameterError, InvalidTypeError
from unskew.grouping.base import Grouping, Router, Trait
from unskew.grouping.catalog import CATALOG
from unskew.grouping.catalog import grouping as grouping_by_name
from unskew.spark.frames import WORKER
from unskew.spark.replay import replayable
from unskew.spark.weight import checked_weights
from unskew.typing import AnyArray, Workers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DEFAULT_GROUPING = "waterline"


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
        columns = ((hashes.to_numpy(),) for hashes in batches)
        return routed(_start(grouping), columns)

    return route


def _weighted(
    grouping: Grouping,
) -> Callable[[Iterator[tuple[pa.Array, pa.Array]]], Iterator[pa.Array]]:
    def route(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        columns = ((hashes.to_numpy(), checked_weights(weights)) for hashes, weights in batches)
        return routed(_start(grouping), columns)

    return route


def _start(grouping: Grouping) -> Router:
    from pyspark import TaskContext

    task = TaskContext.get()
    if task is None:
        raise InvalidInputError("task", "is unknown", "route inside a Spark task")
    return grouping.build(source=task.partitionId())


def routed(router: Router, batches: Iterator[tuple[AnyArray, ...]]) -> Iterator[pa.Array]:
    """Route a task's rows in whole blocks, however they come, and answer batch for batch.

    Batches wait until a block is full, and their rows wait for them in the JVM. The last block of
    a task may be short.
    """
    block = router.grouping.block
    lengths: deque[int] = deque()
    waiting: list[tuple[AnyArray, ...]] = []
    rows = 0
    done = np.empty(0, np.int32)
    for batch in batches:
        lengths.append(len(batch[0]))
        waiting.append(batch)
        rows += lengths[-1]
        if whole := rows - rows % block:
            columns = [np.concatenate(column) for column in zip(*waiting, strict=True)]
            done = np.append(done, _checked(router, *(column[:whole] for column in columns)))
            waiting = [tuple(column[whole:] for column in columns)]
            rows -= whole
        while lengths and lengths[0] <= len(done):
            yield pa.array(done[: lengths[0]])
            done = done[lengths.popleft() :]
    if rows:
        columns = [np.concatenate(column) for column in zip(*waiting, strict=True)]
        done = np.append(done, _checked(router, *columns))
    for length in lengths:
        yield pa.array(done[:length])
        done = done[length:]


def _checked(router: Router, hashes: AnyArray, weights: AnyArray | None = None) -> Workers:
    workers = router.route(hashes, weights)
    # Spark takes ids modulo n and null as 0: behind the shuffle a wrong one would not show.
    if (
        len(workers) != len(hashes)
        or workers.min() < 0
        or workers.max() >= router.grouping.n_workers
    ):
        raise BrokenLawError("conservation", router.grouping, "a worker outside of [0, n)")
    return workers


def never_splitting() -> str:
    """Name the groupings that keep a key on one worker."""
    names = [
        name for name, scheme in CATALOG.items() if Trait.SPLITS_KEYS not in scheme.spec.traits
    ]
    return " or ".join(map(repr, names))
