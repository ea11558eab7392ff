"""What Spark means to do for a frame, as text: on Classic and on Connect, and without a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def physical_plan(df: DataFrame) -> str | None:
    """Return the physical plan; None where Spark does not say."""
    # SQL sees a frame as a view, and takes what is behind it out of the cache when it drops the
    # view. A filter that keeps all rows is not what the user has cached, and in no plan either.
    row = df.sparkSession.sql("EXPLAIN SELECT * FROM {df}", df=df.where(F.lit(True))).first()
    return None if row is None else str(row[0])
