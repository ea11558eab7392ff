import pytest
from pyspark.sql import functions as F

import unskew
from unskew.errors import InvalidParameterError, UnknownNameError
from unskew.spark.sketches import DistinctCount, Quantiles

ROWS = 60_000


@pytest.fixture(scope="module")
def frame(spark):
    """Values of three keys: none, few, and many."""
    key = F.col("id") % 3
    value = F.when(key == 1, F.col("id") % 10).when(key == 2, F.col("id"))
    return spark.range(ROWS, numPartitions=4).select(key.alias("key"), value.alias("value"))


def by_key(frame):
    return {row[0]: row[1] for row in frame.collect()}


def parts(frame, sketch):
    """Compute in parts and merge them, as where partials are kept."""
    partials = frame.groupBy("key", F.spark_partition_id()).agg(sketch.compute(frame).alias("part"))
    return partials.groupBy("key").agg(sketch.finish(sketch.merge(F.col("part"))))


@pytest.mark.parametrize("kind", ["long", "double", "string", "decimal(20,3)", "timestamp"])
def test_distinct_values_are_counted(frame, kind):
    sketch = DistinctCount("value")
    typed = frame.withColumn("value", F.col("value").cast(kind))
    grouped = unskew.group_by(typed, "key", workers=3)

    made = grouped.aggregate(sketch)

    assert made.columns == ["key", "distinct"]
    for found in (by_key(made), by_key(parts(typed, sketch))):
        assert (found[0], found[1]) == (0, 10)
        assert found[2] == pytest.approx(ROWS / 3, rel=4 * 0.016)


def test_quantiles_have_about_their_ranks(frame):
    sketch = Quantiles("value", (0, 0.5, 0.9, 1))

    made = unskew.group_by(frame, "key", workers=3).aggregate(sketch)

    assert made.columns == ["key", "quantiles"]
    for found in (by_key(made), by_key(parts(frame, sketch))):
        assert found[0] is None
        least, half, most, greatest = (value / ROWS for value in found[2])
        assert (least, greatest) == (pytest.approx(0, abs=1e-4), pytest.approx(1, abs=1e-4))
        assert half == pytest.approx(0.5, abs=0.03)
        assert most == pytest.approx(0.9, abs=0.03)


def test_nan_has_no_rank(spark):
    frame = spark.createDataFrame(
        [(1, 2.0), (1, float("nan")), (2, float("nan"))], "k int, v double"
    )

    found = by_key(unskew.group_by(frame, "k", workers=2).aggregate(Quantiles("v", (0, 1))))

    assert found == {1: [2.0, 2.0], 2: None}


def test_what_makes_no_sense_is_refused(frame):
    for ranks in ((), (1.5,), ("half",), 0.5):
        with pytest.raises(InvalidParameterError, match="`ranks` is"):
            Quantiles("value", ranks)
    with pytest.raises(InvalidParameterError, match="`precision` is 3"):
        DistinctCount("value", 3)
    with pytest.raises(UnknownNameError, match="did you mean 'value'"):
        unskew.group_by(frame, "key").aggregate(DistinctCount("vaule"))
