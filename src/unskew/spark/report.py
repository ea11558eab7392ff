"""The skew report: which keys are hot, where Spark's own hash puts them, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StructField,
    StructType,
    UserDefinedType,
)

from unskew.checks import check_whole
from unskew.errors import InvalidInputError
from unskew.metrics import peak
from unskew.spark.frames import (
    HELPER,
    NOT_IN_ARROW,
    require_batch,
    require_collectable,
    require_groupable,
    resolve,
)
from unskew.typing import Loads

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FIGURES = StructType(
    [
        StructField("count", LongType()),
        StructField("share", DoubleType()),
        StructField("partition", IntegerType()),
        StructField("partition_load", DoubleType()),
        StructField("rows", LongType()),
        StructField("max_load", LongType()),
        StructField("average_load", DoubleType()),
        StructField("slowdown", DoubleType()),
    ]
)
# Far more partitions than a shuffle can have; their loads are counted on the driver.
MAX_PARTITIONS = 10_000_000
_REFUSED = NOT_IN_ARROW | {
    UserDefinedType: "use its parts: of a vector, pyspark.ml.functions.vector_to_array"
}
_COUNT = f"{HELPER}count"
_PARTITION = f"{HELPER}partition"
_IS_KEY = f"{HELPER}is_key"


def skew_report(df: DataFrame, *keys: str | Column, workers: int = 200, top: int = 20) -> DataFrame:
    """Report the hottest keys, the partitions they land on, and what the skew costs.

    Runs one job, which reads the frame once and counts its keys exactly: as much work as
    ``df.groupBy(*keys).count()``, in as little memory. The report itself is a small local frame,
    so that looking at it runs nothing again.

    Parameters
    ----------
    df
        A batch frame, on Classic or Connect.
    keys
        Columns, by name or as expressions; one that shares its name with a column of the report is
        given another with ``.alias``. Null is a key like any other.
    workers
        Partitions of the shuffle in question: ``spark.sql.shuffle.partitions``, or the ``n`` of
        ``repartition(n, *keys)``.
    top
        How many keys to report.

    Returns
    -------
    DataFrame
        A row a key, the hottest first; none for a frame without rows. The key columns keep their
        names and types, and are followed by

        - ``count``, ``share``: the rows of the key, and their share of all rows;
        - ``partition``: where Spark's hash partitioning puts the key,
          ``pmod(hash(keys...), workers)``;
        - ``partition_load``: the rows of that partition over the average of all partitions;

        and by what holds of the whole frame, the same in every row:

        - ``rows``: all rows;
        - ``max_load``, ``average_load``: rows of the fullest partition, and of the average one;
        - ``slowdown``: the first over the second. A stage on these partitions takes that many
          times longer than on even ones, since all wait for the fullest.
    """
    require_batch(df, "skew_report")
    columns = resolve(df, keys)
    names = df.select(*columns).columns
    _require_apart(names)
    found = measure(df, columns, workers, top)
    schema = StructType(
        [
            *(
                StructField(name, field.dataType)
                for name, field in zip(names, found.key_types, strict=True)
            ),
            *FIGURES,
        ]
    )
    arrays = [*found.keys.columns, *_figures(found)]
    table = pa.Table.from_arrays(arrays, names=[*names, *FIGURES.names])
    return df.sparkSession.createDataFrame(table, schema)


@dataclass(frozen=True, slots=True)
class Skew:
    """What one pass over a frame has found.

    Attributes
    ----------
    keys
        The hottest keys, a column for each key column.
    key_types
        The Spark types of these columns.
    counts
        The rows of each of these keys.
    partitions
        The partition of each.
    loads
        The rows of every partition.
    """

    keys: pa.Table
    key_types: StructType
    counts: np.ndarray[tuple[int], np.dtype[np.int64]]
    partitions: np.ndarray[tuple[int], np.dtype[np.int64]]
    loads: Loads

    @property
    def rows(self) -> int:
        """All rows."""
        return int(self.loads.sum())

    @property
    def average_load(self) -> float:
        """Rows of the average partition."""
        return self.rows / len(self.loads)

    @property
    def slowdown(self) -> float:
        """How many times longer a stage takes than on even partitions."""
        return peak(self.loads) if self.rows else 1.0


def measure(df: DataFrame, keys: list[Column], workers: int, top: int) -> Skew:
    """Count the keys and the partitions of a frame, in one pass."""
    check_whole("workers", workers, 1, MAX_PARTITIONS)
    check_whole("top", top, 1, 2**31 - 1)
    require_groupable(df, keys)
    # By position, as the keys may have any names, and twice the same.
    names = [f"{HELPER}key_{at}" for at in range(len(keys))]
    named = df.select(*(key.alias(name) for key, name in zip(keys, names, strict=True)))
    kinds = [field.dataType for field in named.schema]
    require_collectable(kinds, df.select(*keys).columns, _REFUSED)
    table = _one_pass(named, workers, top).toArrow()
    is_key = table[_IS_KEY].to_numpy(zero_copy_only=False).astype(bool)
    counts = table[_COUNT].to_numpy()
    partitions = table[_PARTITION].to_numpy().astype(np.int64)
    loads = np.zeros(workers)
    loads[partitions[~is_key]] = counts[~is_key]
    # Sorted here, since a union keeps no order.
    hottest = np.flatnonzero(is_key)
    hottest = hottest[np.argsort(-counts[hottest], kind="stable")]
    return Skew(
        table.select(names).take(pa.array(hottest)),
        named.schema,
        counts[hottest],
        partitions[hottest],
        loads,
    )


def _one_pass(named: DataFrame, workers: int, top: int) -> DataFrame:
    """Give the hottest keys and the loads of all partitions, from one count of the keys.

    Both halves stand on the same shuffle, which Spark runs once and reads twice. The filter
    changes nothing; without it the optimizer counts partitions straight from the data, in a pass
    of its own.
    """
    keys = [F.col(name) for name in named.columns]
    counted = named.groupBy(*keys).agg(F.count("*").alias(_COUNT)).where(F.col(_COUNT) > 0)
    partition = F.pmod(F.hash(*keys), F.lit(workers)).alias(_PARTITION)
    # A null where a struct is has nulls for all its fields, whatever they are allowed.
    kinds = {field.name: _nullable(field.dataType) for field in named.schema}
    some_keys = [F.col(name).cast(kind).alias(name) for name, kind in kinds.items()]
    no_keys = [F.lit(None).cast(kind).alias(name) for name, kind in kinds.items()]
    hottest = (
        counted.orderBy(F.desc(_COUNT), F.xxhash64(*keys))
        .limit(top)
        .select(*some_keys, partition, _COUNT, F.lit(True).alias(_IS_KEY))
    )
    loads = (
        counted.groupBy(partition)
        .agg(F.sum(_COUNT).alias(_COUNT))
        .select(*no_keys, _PARTITION, _COUNT, F.lit(False).alias(_IS_KEY))
    )
    return hottest.union(loads)


def _nullable(kind: DataType) -> DataType:
    """Give the same type, but for the fields of a struct, which may all be null."""
    if not isinstance(kind, StructType):
        return kind
    return StructType([StructField(field.name, _nullable(field.dataType)) for field in kind.fields])


def _figures(found: Skew) -> list[pa.Array]:
    n = len(found.counts)
    rows, average = found.rows, found.average_load
    values = [
        found.counts,
        found.counts / max(rows, 1),
        found.partitions.astype(np.int32),
        found.loads[found.partitions] / (average or 1),
        np.full(n, rows),
        np.full(n, int(found.loads.max())),
        np.full(n, average),
        np.full(n, found.slowdown),
    ]
    return [pa.array(each) for each in values]


def _require_apart(names: list[str]) -> None:
    """Refuse keys that have the same name, or that of a figure."""
    taken = set(FIGURES.names)
    for name in names:
        if name.lower() in taken:
            raise InvalidInputError(
                "keys",
                f"have the name {name!r} twice, or the report has it",
                'give the key another: F.col("a").alias("b")',
            )
        taken.add(name.lower())
