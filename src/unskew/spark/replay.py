"""Rows in an order that a repeated task finds again.

Spark runs lost tasks again. A router then routes as before if it sees the same rows in the same
order. A scan gives them so; behind a shuffle they come as they arrive. An order-dependent grouping
would send some of them elsewhere than the first time, and a row could be read twice or never.

So where rows may change places, each task sorts them by a hash of all that is in them, as Spark's
own ``repartition(n)`` does. Rows that are alike in everything may still change places.

The second line of defence is Spark's: it notices by a checksum that a repeated task wrote other
rows, and runs the stages behind it again. It is on by default from 4.2, and turned on here. It is
not enough alone: with adaptive execution, Spark 4.3 acts on the checksum of the stage that a failed
one reads from, and on none before that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from unskew.grouping.base import Grouping, Trait
from unskew.spark.frames import HELPER
from unskew.spark.identity import identity_hash
from unskew.spark.plan import physical_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CHECKSUM = (
    "spark.sql.shuffle.orderIndependentChecksum.enabled",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch",
)
_CONTENT = f"{HELPER}content"
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
    # A frame may have two columns of one name: as fields of one struct they get names of their own.
    kinds = [StructField(f"c{at}", field.dataType) for at, field in enumerate(df.schema)]
    row, kind = F.struct("*"), StructType(kinds)
    hashed = df.withColumn(_CONTENT, identity_hash([row.cast(kind)], [kind]))
    return hashed.sortWithinPartitions(_CONTENT).drop(_CONTENT)
