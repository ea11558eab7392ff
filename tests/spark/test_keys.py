"""What cannot be a key is refused by every call alike, before anything runs."""

import pandas as pd
import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

import unskew
from tests.spark.watching import jobs_of
from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.window import Count

CALLS = {
    "repartition": lambda df, key: unskew.repartition(df, 3, key),
    "group_by": lambda df, key: unskew.group_by(df, key, workers=3).aggregate(Count()),
    "skew_report": lambda df, key: unskew.skew_report(df, key, workers=3),
    "advise": lambda df, key: unskew.advise(df, key, workers=3),
}
NO_VALUES = [
    (lambda: F.sum("v"), r"sum\(v\), an aggregate"),
    (lambda: F.sum("v") + 1, r".*sum\(v\).*, an aggregate"),
    (lambda: F.count(F.lit(1)), r"count\(1\), an aggregate"),
    (lambda: F.grouping("k"), r"grouping\(k\), an aggregate"),
    (lambda: F.explode("a"), r"explode\(a\), a generator"),
    (lambda: F.explode("a") + 1, r".*explode\(a\).*, a generator"),
    (lambda: F.posexplode("a"), r"posexplode\(a\), a generator"),
    (lambda: F.row_number().over(ordered()), r"row_number\(\).*, a window function"),
    (lambda: F.sum("v").over(ordered()) + 1, r".*sum\(v\).*, a window function"),
    (lambda: "*", r"\*, several columns"),
    (lambda: F.col("*"), r"\*, several columns"),
    (lambda: "s.*", r"s\.\*, several columns"),
]


def ordered():
    return Window.partitionBy("k").orderBy("v")


@pytest.fixture(scope="module")
def frame(spark):
    return spark.range(10).selectExpr(
        "id % 3 as k", "id as v", "array(1, 2) as a", "named_struct('x', id) as s"
    )


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_is_no_value_of_a_row_is_refused(spark, frame, call):
    with jobs_of(spark) as jobs:
        for make, shown in NO_VALUES:
            remedy = (
                "name each" if "several" in shown else "compute it first, in a frame of its own"
            )
            with pytest.raises(InvalidInputError, match=f"`key` is {shown}; {remedy}"):
                call(frame, make())
        assert jobs.ids() == []


def test_an_aggregate_in_python_is_one_too(frame):
    @F.pandas_udf("double")
    def median(v: pd.Series) -> float:
        return float(v.median())

    with pytest.raises(InvalidInputError, match=r"median.*, an aggregate; compute it first"):
        unskew.repartition(frame, 3, median("v"))


def test_weights_are_values_of_rows_too(frame):
    with pytest.raises(InvalidInputError, match=r"`weight` is sum\(v\), an aggregate"):
        unskew.repartition(frame, 3, "k", weight=F.sum("v"))


def test_the_remedy_works(frame):
    made = frame.withColumn("at", F.row_number().over(ordered())).withColumn("each", F.explode("a"))

    assert unskew.repartition(made, 3, "at", "each").columns == made.columns


@pytest.mark.parametrize(
    "key",
    [
        F.rand,
        lambda: F.lit(None),
        lambda: F.col("s.x") + 1,
        lambda: F.struct("k", "a"),
        lambda: F.window(F.timestamp_seconds("v"), "1 second"),
        lambda: F.udf(lambda v: v, "long")("v"),
    ],
    ids=["rand", "null", "field", "struct", "window of time", "udf"],
)
def test_other_expressions_are_keys(frame, key):
    assert unskew.group_by(frame, key(), workers=3).aggregate(Count()).columns[-1] == "count"


def test_a_vector_is_refused_where_it_has_no_form(spark):
    from pyspark.ml.linalg import Vectors, VectorUDT
    from pyspark.sql.types import StructField, StructType

    schema = StructType([StructField("features", VectorUDT())])
    vectors = spark.createDataFrame([(Vectors.dense([1.0]),)] * 3, schema)

    with pytest.raises(InvalidTypeError, match="`key features` is of type vector; use its parts"):
        unskew.skew_report(vectors, "features")
    assert unskew.repartition(vectors, 3, "features").columns == ["features"]
