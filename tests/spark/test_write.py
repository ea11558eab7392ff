from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import unskew
from tests.frames import multiset
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    UnknownNameError,
)
from unskew.spark.repartition import repartition

ROWS, FILES = 20_000, 8


@pytest.fixture(scope="module")
def skewed(spark):
    """One country has most rows, as one always has."""
    random = np.random.default_rng(9)
    ranks = random.zipf(1.6, ROWS) % 40
    table = pa.table(
        {
            "row": np.arange(ROWS),
            "country": [None if rank == 3 else f"c {rank}/ä" for rank in ranks.tolist()],
            "year": pa.array(2000 + ranks % 3, pa.int32()),
        }
    )
    return spark.createDataFrame(table).repartition(6).cache()


def written(path):
    return [file for file in Path(path).rglob("*") if file.is_file() and file.name[0] not in "._"]


@pytest.mark.parametrize("kind", ["parquet", "json", "csv", "orc"])
@pytest.mark.parametrize("columns", ["country", ["country", "year"]], ids=["one", "two"])
def test_what_is_written_is_what_was_there(spark, skewed, tmp_path, kind, columns):
    path = str(tmp_path / "out")

    unskew.write_balanced(skewed, path, columns, files=FILES, format=kind)

    found = spark.read.format(kind).schema(skewed.schema).load(path).select(*skewed.columns)
    assert multiset(found.toArrow()) == multiset(skewed.toArrow())


def test_files_are_even_and_few(spark, skewed, tmp_path):
    path = str(tmp_path / "out")

    unskew.write_balanced(skewed, path, "country", files=FILES)

    rows = spark.read.parquet(path).withColumn("file", F.input_file_name())
    tasks = rows.groupBy(F.regexp_extract("file", r"part-(\d+)", 1)).count().collect()
    assert len(tasks) == FILES
    assert max(row["count"] for row in tasks) <= 1.05 * ROWS / FILES
    # By hand it is a file for each key and task, or one task for all of the hot key.
    even = skewed.repartition(FILES)
    even.write.partitionBy("country").parquet(str(tmp_path / "plain"))
    assert len(written(path)) < 0.7 * len(written(tmp_path / "plain"))


def test_options_and_modes_are_sparks_own(spark, skewed, tmp_path):
    path = str(tmp_path / "out")
    few = skewed.limit(10)
    write = {"files": 2, "options": {"compression": "gzip"}}

    unskew.write_balanced(few, path, "year", **write)
    assert all(file.name.endswith(".gz.parquet") for file in written(path))
    unskew.write_balanced(few, path, "year", mode="append", **write)
    assert spark.read.parquet(path).count() == 20
    unskew.write_balanced(few, path, "year", mode="overwrite", **write)
    assert spark.read.parquet(path).count() == 10
    unskew.write_balanced(skewed, path, "year", mode="ignore", **write)
    assert spark.read.parquet(path).count() == 10


def test_a_path_and_a_mode_may_be_given_as_to_spark(spark, skewed, tmp_path):
    path = tmp_path / "out"
    unskew.write_balanced(skewed.limit(10), path, "year", files=2, mode="errorifexists")
    assert spark.read.parquet(str(path)).count() == 10
    with pytest.raises(InvalidInputError, match="which exists"):
        unskew.write_balanced(skewed, path, "year", files=2, mode="errorifexists")


@pytest.mark.parametrize("prefix", ["", "file:"])
def test_a_failure_leaves_nothing_behind(skewed, tmp_path, prefix):
    fails = skewed.withColumn(
        "late", F.when(F.col("row") == ROWS - 1, F.raise_error(F.lit("broken row"))).otherwise(1)
    )
    path = tmp_path / "new" / "out"

    with pytest.raises(Exception, match="broken row"):
        unskew.write_balanced(fails, f"{prefix}{path}", "country", files=FILES)

    assert not path.exists()


def test_a_failure_leaves_what_was_there(spark, skewed, tmp_path):
    path = str(tmp_path / "out")
    unskew.write_balanced(skewed.limit(10), path, "year", files=2)
    fails = skewed.withColumn("row", F.raise_error(F.lit("broken row")).cast("long"))

    with pytest.raises(Exception, match="broken row"):
        unskew.write_balanced(fails, path, "year", files=2, mode="append")

    assert spark.read.parquet(path).count() == 10


@pytest.mark.parametrize("mode", ["error", "append"])
def test_a_failure_leaves_what_another_wrote_meanwhile(spark, skewed, tmp_path, monkeypatch, mode):
    path = str(tmp_path / "out")
    few = spark.createDataFrame([(0, "_x"), (1, "_x")], "year long, _country string").coalesce(1)

    def meanwhile(*arguments, **more):
        few.write.partitionBy("_country").parquet(path)
        return repartition(*arguments, **more)

    monkeypatch.setattr("unskew.spark.write.repartition", meanwhile)
    frame, message = skewed, "PATH_ALREADY_EXISTS"
    if mode == "append":
        broken = F.raise_error(F.lit("broken row"))
        frame, message = skewed.withColumn("row", broken.cast("long")), "broken row"

    with pytest.raises(Exception, match=message):
        unskew.write_balanced(frame, path, "year", files=2, mode=mode)

    assert spark.read.parquet(path).count() == 2


def test_a_failure_leaves_a_folder_that_another_made_meanwhile(skewed, tmp_path, monkeypatch):
    path = tmp_path / "out"

    def meanwhile(*arguments, **more):
        path.mkdir()
        return repartition(*arguments, **more)

    monkeypatch.setattr("unskew.spark.write.repartition", meanwhile)

    with pytest.raises(Exception, match="PATH_ALREADY_EXISTS"):
        unskew.write_balanced(skewed, path, "year", files=2)

    assert path.exists()


class TestBadInput:
    def test_a_path_that_exists_is_refused_before_anything_runs(self, skewed, tmp_path):
        broken = skewed.withColumn("row", F.raise_error(F.lit("ran")).cast("long"))
        with pytest.raises(InvalidInputError, match="which exists; choose another"):
            unskew.write_balanced(broken, str(tmp_path), "year", files=2)

    @pytest.mark.parametrize("files", [0, -1, 2.5])
    def test_a_number_of_files_that_is_none_is_refused(self, skewed, tmp_path, files):
        with pytest.raises(InvalidParameterError, match="`files` is"):
            unskew.write_balanced(skewed, str(tmp_path / "out"), "year", files=files)

    def test_columns_must_be_there_and_leave_one(self, skewed, tmp_path):
        path = str(tmp_path / "out")
        with pytest.raises(UnknownNameError, match="did you mean 'year'"):
            unskew.write_balanced(skewed, path, "yaer", files=2)
        with pytest.raises(InvalidInputError, match="leave one to write"):
            unskew.write_balanced(skewed, path, ["row", "country", "year"], files=2)
        with pytest.raises(InvalidInputError, match="name at least one"):
            unskew.write_balanced(skewed, path, [], files=2)

    def test_modes_and_streams(self, spark, skewed, tmp_path):
        path = str(tmp_path / "out")
        with pytest.raises(InvalidParameterError, match="`mode` is 'upsert'"):
            unskew.write_balanced(skewed, path, "year", files=2, mode="upsert")
        stream = spark.readStream.format("rate").load()
        with pytest.raises(InvalidTypeError, match="write_balanced works on batch frames"):
            unskew.write_balanced(stream, path, "value", files=2)

    def test_a_format_that_spark_does_not_know_leaves_nothing(self, skewed, tmp_path):
        path = tmp_path / "out"
        with pytest.raises(Exception, match="DATA_SOURCE_NOT_FOUND"):
            unskew.write_balanced(skewed, str(path), "year", files=2, format="parket")
        assert not path.exists()
