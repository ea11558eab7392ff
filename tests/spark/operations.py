"""What unskew does to a frame, each beside Spark's own way to the same rows.

An operation is one line in `OPERATIONS`, and runs through every suite: over generated frames, on a
Connect server, and on a cluster whose executors are killed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from tests.frames import ROW, everything, in_one_job, multiset, plain
from unskew.grouping.base import Trait
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
    # Arrays as lists: NumPy would make room for the sign in all the elements.
    parts = [each.tolist() if isinstance(each, np.ndarray) else each for each in key]
    return pd.DataFrame({ROW: rows[ROW], "told": repr(parts).replace("-0.", "0.")})


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


ROUTED = ("repartition", "aggregate")
"""The quickest with and without a merge: where groupings run that differ in their routes alone."""
UNLIKE = list(
    {
        unskew.grouping(name, 2).spec.traits & ~Trait.ELASTIC: name for name in unskew.groupings()
    }.values()
)
"""A grouping of each combination of traits: Spark's side asks a grouping for nothing else, and
whether it is elastic is settled before a row is routed."""


def all_differences(spark: SparkSession) -> dict[str, dict[str, dict[str, list[int]]]]:
    """Compare every operation over keys of every sort, and every grouping over one of them."""
    wide, narrow = everything(), plain()
    wide_frame, narrow_frame = wide.frame(spark), narrow.frame(spark)
    return {
        "operations": {
            name: differences(wide_frame, wide.keys, each, UNLIKE)
            for name, each in OPERATIONS.items()
        },
        "groupings": {
            name: differences(narrow_frame, narrow.keys, OPERATIONS[name], unskew.groupings())
            for name in ROUTED
        },
    }


def check_all(found: dict[str, dict[str, dict[str, list[int]]]]) -> None:
    """Check that there are rows, and no difference."""
    assert found["operations"].keys() == OPERATIONS.keys()
    for sort, groupings in (("operations", UNLIKE), ("groupings", unskew.groupings())):
        for name, compared in found[sort].items():
            assert set(compared) == set(groupings), name
            for grouping, (sparks_own, our_own, common) in compared.items():
                assert (sparks_own, our_own) == (0, 0), (name, grouping)
                assert common > 0


def differences(
    frame: DataFrame, keys: list[str], operation: Operation, groupings: Iterable[str]
) -> dict[str, list[int]]:
    """Count the rows that Spark alone gives, that we alone give, and that both give."""
    frames = {name: operation.ours(frame, keys, 3, name) for name in groupings}
    expected, *found = map(
        multiset, in_one_job({"Spark": operation.spark(frame, keys, 3)} | frames).values()
    )
    return {
        name: [each.total() for each in (expected - rows, rows - expected, expected & rows)]
        for name, rows in zip(frames, found, strict=True)
    }
