"""Rows in an order that a repeated task finds again.

Spark runs lost tasks again. A router then routes as before if it sees the same rows in the same
order. A scan gives them so; behind a shuffle they come as they arrive. An order-dependent grouping
would send some of them elsewhere than the first time, and a row could be read twice or never.

So where rows may change places, each task sorts them by a hash of all that is in them, as Spark's
own ``repartition(n)`` does. Rows that are alike in everything may still change places.

Values, too, may depend on the order of rows: a sum of doubles does in its last bits, and a list by
``collect_list``. So a hash of the columns that cannot, such as the keys of that sum, comes first.
Nothing helps where a value is another one each time, as with ``monotonically_increasing_id`` or
``rand`` behind a shuffle.

The second line of defence is Spark's: it notices by a checksum that a repeated task wrote other
rows, and runs the stages behind it again. It is on by default from 4.2, and turned on here. It is
not enough alone: with adaptive execution, Spark 4.3 acts on the checksum of the stage that a failed
one reads from, and on none before that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StructType,
    VariantType,
)

from unskew.grouping.base import Grouping, Trait
from unskew.spark.frames import HELPER
from unskew.spark.identity import identity_hash, numbered
from unskew.spark.plan import physical_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CHECKSUM = (
    "spark.sql.shuffle.orderIndependentChecksum.enabled",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch",
)
_SETTLED, _CONTENT = f"{HELPER}settled", f"{HELPER}content"
# What in a plan may give its rows in another order when it runs again: shuffles, limits (which are
# shuffles once something follows them), queries to a database, sorts and aggregates (whose order
# depends on when memory runs out, and which a bucketed table spares the shuffle), and RDDs, which
# do not show what is in them. A broadcast is kept as it is.
_UNSTABLE = re.compile(
    r"(?<!Broadcast)Exchange|Limit|TakeOrdered|JDBC|Sort|Aggregate|ExistingRDD|ExternalRDD"
)


def replayable(df: DataFrame, grouping: Grouping) -> DataFrame:
    """Return the frame with its rows in an order that the grouping can rely on; runs no job."""
    if Trait.ORDER_DEPENDENT not in grouping.spec.traits:
        return df
    _turn_on_checksums(df.sparkSession)
    return _sorted_by_content(df) if _may_change_places(df) else df


def _turn_on_checksums(spark: SparkSession) -> None:
    for setting in _CHECKSUM:
        if spark.conf.get(setting, "false") != "true":
            spark.conf.set(setting, "true")


def _may_change_places(df: DataFrame) -> bool:
    plan = physical_plan(df)
    return plan is None or _UNSTABLE.search(plan) is not None


def _sorted_by_content(df: DataFrame) -> DataFrame:
    # As fields of one struct, columns of one name get names of their own.
    kind = numbered(df.schema)
    row = F.struct("*").cast(kind)
    settled = [field for field in kind if _settled(field.dataType)]
    hashes = {_CONTENT: identity_hash([row], [kind])}
    if 0 < len(settled) < len(kind):
        values, kinds = zip(*((row[field.name], field.dataType) for field in settled), strict=True)
        hashes = {_SETTLED: identity_hash(values, kinds), **hashes}
    return df.withColumns(hashes).sortWithinPartitions(*hashes).drop(*hashes)


def _settled(kind: DataType) -> bool:
    """Whether a value is likely the same when rows before it come in another order.

    A sum of doubles is not, to the last bit, and a list that was collected is not.
    """
    if isinstance(kind, StructType):
        return all(_settled(field.dataType) for field in kind.fields)
    return not isinstance(kind, FloatType | DoubleType | ArrayType | MapType | VariantType)
