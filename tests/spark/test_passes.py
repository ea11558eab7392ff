"""How often the data is read: never before an action, and once then."""

import pytest
from pyspark.sql import functions as F

import unskew
from tests.spark.watching import passes
from unskew.window import Count

PARTITIONS = 4


def whole(rows):
    return rows


@pytest.fixture
def watched(spark, tmp_path):
    """A frame with a hot key, and a call that says how often its partitions were read."""
    key = F.when(F.col("id") % 2 == 0, 0).otherwise(F.col("id") % 50).alias("key")
    return passes(spark.range(2_000, numPartitions=PARTITIONS).select("id", key), tmp_path)


LAZY = {
    "repartition": lambda df: unskew.repartition(df, 3, "key"),
    "repartition by expression": lambda df: unskew.repartition(df, 3, F.col("key") + 1),
    "agg": lambda df: unskew.group_by(df, "key").agg(F.sum("id")),
    "aggregate": lambda df: unskew.group_by(df, "key", workers=3).aggregate(Count()),
    "apply_in_pandas": lambda df: unskew.group_by(df, "key", workers=3).apply_in_pandas(
        whole, df.schema, merge=whole
    ),
    "apply_in_arrow": lambda df: unskew.group_by(
        df, "key", workers=3, grouping="key"
    ).apply_in_arrow(whole, df.schema),
}


@pytest.mark.parametrize("call", LAZY.values(), ids=LAZY)
def test_there_is_no_pass_but_that_of_the_action(watched, call):
    frame, count = watched

    made = call(frame)
    assert count() == {}, "it is not lazy"
    assert made.toArrow().num_rows > 0
    assert count() == dict.fromkeys(range(PARTITIONS), 1)


def test_writing_is_one_pass(watched, tmp_path):
    frame, count = watched

    unskew.write_balanced(frame, str(tmp_path / "out"), "key", files=3)

    assert count() == dict.fromkeys(range(PARTITIONS), 1)


@pytest.mark.parametrize("call", [unskew.skew_report, unskew.advise])
def test_looking_is_one_pass(watched, call):
    frame, count = watched

    call(frame, "key", workers=3).collect()

    assert count() == dict.fromkeys(range(PARTITIONS), 1)
