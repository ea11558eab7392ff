"""What unskew does to a frame, each beside Spark's own way to the same rows.

An operation is one line in `OPERATIONS`, and runs through every suite: over generated frames, on a
Connect server, and on a cluster whose executors are killed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import unskew
from tests.frames import ROW, multiset
from unskew.window import Count, Many, Sum


class Operation(NamedTuple):
    """One thing done twice; the rows must be the same, in any order."""

    ours: Callable[[DataFrame, list[str], int, str], DataFrame]
    """From a frame, its keys, the number of workers and the name of a grouping."""
    spark: Callable[[DataFrame, list[str], int], DataFrame]


def _repartition(df: DataFrame, keys: list[str], workers: int, grouping: str) -> DataFrame:
    return unskew.repartition(df, workers, *keys, grouping=grouping)


def _sparks_repartition(df: DataFrame, keys: list[str], workers: int) -> DataFrame:
    return df.repartition(workers, *keys)


TOLD = f"{ROW} long, told string"


def told(key, rows):
    """Say which rows came with which key. Of 0.0 and -0.0 in one group, either is the key."""
    return pd.DataFrame({ROW: rows[ROW], "told": repr(key).replace("-0.", "0.")})


def told_in_arrow(key, rows):
    shown = repr([each.as_py() for each in key]).replace("-0.", "0.")
    return pa.table({ROW: rows[ROW], "told": pa.array([shown] * len(rows), pa.string())})


def alike(rows):
    return rows


def _apply_in_pandas(df: DataFrame, keys: list[str], workers: int, grouping: str) -> DataFrame:
    grouped = unskew.group_by(df, *keys, workers=workers, grouping=grouping)
    return grouped.apply_in_pandas(told, TOLD, merge=alike, max_rows_per_call=3)


def _apply_in_arrow(df: DataFrame, keys: list[str], workers: int, grouping: str) -> DataFrame:
    grouped = unskew.group_by(df, *keys, workers=workers, grouping=grouping)
    return grouped.apply_in_arrow(told_in_arrow, TOLD, merge=alike, max_rows_per_call=3)


def _sparks_apply_in_pandas(df: DataFrame, keys: list[str], workers: int) -> DataFrame:
    return df.groupBy(*keys).applyInPandas(told, TOLD)


def _sparks_apply_in_arrow(df: DataFrame, keys: list[str], workers: int) -> DataFrame:
    return df.groupBy(*keys).applyInArrow(told_in_arrow, TOLD)


def _aggregate(df: DataFrame, keys: list[str], workers: int, grouping: str) -> DataFrame:
    grouped = unskew.group_by(df, *keys, workers=workers, grouping=grouping)
    # Not the keys: of 0.0 and -0.0 in one group, either may stand for it.
    return grouped.aggregate(Many(of=Count(), id=Sum(ROW))).drop(*keys)


def _sparks_aggregate(df: DataFrame, keys: list[str], workers: int) -> DataFrame:
    counted = df.groupBy(*keys).agg(F.count("*").alias("of_count"), F.sum(ROW).alias("id_sum"))
    return counted.drop(*keys)


OPERATIONS = {
    "repartition": Operation(_repartition, _sparks_repartition),
    "apply_in_pandas": Operation(_apply_in_pandas, _sparks_apply_in_pandas),
    "apply_in_arrow": Operation(_apply_in_arrow, _sparks_apply_in_arrow),
    "aggregate": Operation(_aggregate, _sparks_aggregate),
}


def differences(frame: DataFrame, keys: list[str], operation: Operation) -> dict[str, list[int]]:
    """Count the rows that Spark alone gives, that we alone give, and that both give."""
    expected = multiset(operation.spark(frame, keys, 3).toArrow())
    counts = {}
    for grouping in unskew.groupings():
        found = multiset(operation.ours(frame, keys, 3, grouping).toArrow())
        both = expected & found
        counts[grouping] = [each.total() for each in (expected - found, found - expected, both)]
    return counts
