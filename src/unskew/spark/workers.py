"""How many workers, where nobody says: as many as Spark's shuffles have partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SPARKS_OWN = 200


def default_workers(spark: SparkSession) -> int:
    """Return ``spark.sql.shuffle.partitions``; Spark's default where it is left to the platform."""
    partitions = spark.conf.get("spark.sql.shuffle.partitions", None)
    # Some platforms take "auto".
    return int(partitions) if partitions and partitions.isdecimal() else _SPARKS_OWN
