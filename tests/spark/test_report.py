from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import unskew
from tests.frames import everything, multiset, samples
from tests.spark.watching import jobs_of, passes
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    UnknownNameError,
)

FIGURES = [
    "count",
    "share",
    "partition",
    "partition_load",
    "rows",
    "max_load",
    "average_load",
    "slowdown",
]
ALL = 2**31 - 1


def placed(frame, keys, workers):
    """Count the rows of each key on each partition that Spark's own repartition makes."""
    by = [F.col(key).alias(f"key {at}") for at, key in enumerate(keys)]
    partition = F.spark_partition_id().alias("partition")
    return frame.repartition(workers, *keys).groupBy(*by, partition).count().toArrow()


def reported(report, keys):
    """Give the same columns of a report."""
    by = [F.col(f"`{key}`").alias(f"key {at}") for at, key in enumerate(keys)]
    return report.select(*by, "partition", "count").toArrow()


def check_against_spark(frame, keys, workers):
    """Compare a report of all keys with where Spark puts them, figure by figure."""
    truth = placed(frame, keys, workers)

    report = unskew.skew_report(frame, *keys, workers=workers, top=ALL)

    assert multiset(reported(report, keys)) == multiset(truth)
    loads = Counter()
    for row in truth.to_pylist():
        loads[row["partition"]] += row["count"]
    rows = loads.total()
    for row in report.collect():
        assert row["share"] == pytest.approx(row["count"] / rows)
        assert row["partition_load"] == pytest.approx(loads[row["partition"]] / (rows / workers))
        assert (row["rows"], row["max_load"]) == (rows, max(loads.values()))
        assert row["average_load"] == pytest.approx(rows / workers)
        assert row["slowdown"] == pytest.approx(max(loads.values()) / (rows / workers))


@pytest.fixture(scope="module")
def skewed(spark):
    """Key k has k rows, for k from 1 to 99."""
    return spark.sql(
        "select id as key from range(1, 100) lateral view explode(sequence(1, id)) t as i"
    )


@pytest.fixture(scope="module")
def odd(spark):
    """Columns of the types that the generated frames have not."""
    return spark.range(60, numPartitions=3).selectExpr(
        "id",
        "cast(id % 5 as tinyint) as tiny",
        "cast(id % 5 as smallint) as small",
        "if(id % 7 = 0, cast(-0.0 as float), cast(id % 5 as float)) as single",
        "cast(null as void) as nothing",
        "timestamp_ntz'2020-01-01 00:00:00' + make_dt_interval(id % 3) as naive",
        "make_dt_interval(id % 5) as duration",
        "make_ym_interval(id % 5) as months",
        "cast(id % 3 as decimal(38, 10)) as exact",
        # Nothing in it may be null.
        "named_struct('a', id % 3, 'b', array(named_struct('c', id % 2))) as deep",
        "array(named_struct('c', id % 2)) as list",
        "if(id % 2 = 0, null, named_struct('a', id % 3)) as some",
        "if(id % 3 = 0, null, id % 3) as maybe",
        "id % 4 as `a.b`",
        "id % 4 as `it``s a name`",
        "id % 5 as count",
        "map(id, id) as pairs",
        "named_struct('in', array(map(id, id))) as pairs_within",
        "'A' collate UTF8_LCASE as any_case",
        "parse_json('1') as json",
    )


class TestFigures:
    def test_counts_and_shares_are_exact(self, skewed):
        report = unskew.skew_report(skewed, "key", workers=10, top=3).collect()

        assert [(row["key"], row["count"], row["rows"]) for row in report] == [
            (99, 99, 4950),
            (98, 98, 4950),
            (97, 97, 4950),
        ]
        assert [row["share"] for row in report] == [99 / 4950, 98 / 4950, 97 / 4950]
        assert {row["average_load"] for row in report} == {495.0}
        assert {row["slowdown"] for row in report} == {report[0]["max_load"] / 495}

    @pytest.mark.parametrize("key", everything().keys)
    def test_a_key_of_any_type_is_where_spark_puts_it(self, spark, key):
        check_against_spark(everything().frame(spark), [key], 7)

    @pytest.mark.parametrize(
        "key",
        ["tiny", "small", "single", "nothing", "naive", "duration", "exact", "deep", "deep.a",
         "list", "some", "maybe"],
    )  # fmt: skip
    def test_a_key_of_a_rare_type_is_where_spark_puts_it(self, odd, key):
        truth = placed(odd, [key], 4)

        report = unskew.skew_report(odd, key, workers=4, top=ALL)

        assert multiset(reported(report, [key.split(".")[-1]])) == multiset(truth)
        kind = odd.select(key).schema[0].dataType
        assert report.schema[0].dataType.simpleString() == kind.simpleString()
        assert report.count() == odd.select(key).distinct().count()

    @settings(max_examples=5)
    @given(sample=samples(), workers=st.sampled_from([1, 2, 5, 1_000]))
    @example(sample=everything(), workers=3)
    def test_keys_of_several_columns_are_where_spark_puts_them(self, spark, sample, workers):
        check_against_spark(sample.frame(spark), sample.keys, workers)

    def test_null_is_a_key_like_any_other(self, odd):
        report = unskew.skew_report(odd, "maybe", "nothing", workers=4).collect()

        assert {row["maybe"]: row["count"] for row in report} == {None: 20, 1: 20, 2: 20}

    def test_one_key_alone_costs_as_much_as_there_are_workers(self, spark):
        (row,) = unskew.skew_report(spark.range(50), F.lit("x").alias("key"), workers=40).collect()

        assert (row["count"], row["share"], row["slowdown"]) == (50, 1.0, 40.0)
        assert row["partition_load"] == 40.0

    def test_one_worker_has_no_skew(self, skewed):
        row = unskew.skew_report(skewed, "key", workers=1).first()

        assert (row["partition"], row["max_load"], row["slowdown"]) == (0, 4950, 1.0)


class TestTop:
    def test_the_hottest_come_first(self, skewed):
        report = unskew.skew_report(skewed, "key", top=7).collect()

        assert [row["key"] for row in report] == [99, 98, 97, 96, 95, 94, 93]

    def test_there_may_be_fewer(self, skewed):
        assert unskew.skew_report(skewed.where("key > 96"), "key", top=10).count() == 3

    def test_of_equal_ones_the_same_are_taken_however_the_rows_lie(self, spark):
        frame = spark.range(1_000)

        found = [
            unskew.skew_report(each, "id", top=5).collect()
            for each in (frame.repartition(1), frame.repartition(7, "id"))
        ]
        assert found[0] == found[1]


class TestFrame:
    def test_a_frame_without_rows_has_no_hot_keys(self, odd):
        for keys in (["id"], ["deep", "maybe"]):
            report = unskew.skew_report(odd.where("id < 0"), *keys)

            assert report.columns == [*keys, *FIGURES]
            assert report.collect() == []

    def test_columns_are_keys_then_figures(self, skewed):
        schema = unskew.skew_report(skewed, F.col("key").alias("Of interest")).schema

        assert schema.names == ["Of interest", *FIGURES]
        kinds = [field.dataType.simpleString() for field in schema]
        assert " ".join(kinds) == "bigint bigint double int double bigint bigint double double"

    @pytest.mark.parametrize(
        ("key", "name"),
        [
            ("ID", "ID"),
            ("deep.a", "a"),
            ("a.b", "a.b"),
            ("`a.b`", "a.b"),
            ("it`s a name", "it`s a name"),
            (lambda: F.col("id") % 3, "(id % 3)"),
            (lambda: F.col("count").alias("number"), "number"),
        ],
    )
    def test_a_key_is_a_name_an_expression_or_a_field(self, odd, key, name):
        report = unskew.skew_report(odd, key if isinstance(key, str) else key(), top=ALL)

        assert report.columns[0] == name
        assert sum(row["count"] for row in report.collect()) == 60

    def test_a_dot_is_a_part_of_a_name_where_nothing_has_fields(self, spark):
        plain = spark.range(4).selectExpr("id as a", "id % 2 as `a.b`")
        nested = spark.range(4).selectExpr("named_struct('b', id % 4) as a", "id % 2 as `a.b`")

        assert unskew.skew_report(plain, "a.b").columns[0] == "a.b"
        assert unskew.skew_report(nested, "a.b").columns[0] == "b", "as with Spark, it is the field"

    def test_it_is_small_and_local(self, spark, tmp_path):
        frame, count = passes(spark.range(5_000, numPartitions=4), tmp_path)
        report = unskew.skew_report(frame, "id", top=5)
        read = count()

        assert report.count() == 5
        assert [len(row) for row in report.collect()] == [9] * 5
        assert count() == read, "looking at the report reads the data again"


class TestPasses:
    def test_the_data_is_read_once(self, spark, tmp_path):
        frame, count = passes(spark.range(5_000, numPartitions=4), tmp_path)

        unskew.skew_report(frame, (F.col("id") % 700).alias("key"))

        assert count() == dict.fromkeys(range(4), 1)

    def test_files_are_read_once(self, spark, tmp_path):
        # Of files Spark knows more than of a function, and may choose another plan.
        spark.range(1_000, numPartitions=2).write.parquet(str(tmp_path / "data"))
        frame = spark.read.parquet(str(tmp_path / "data"))

        with jobs_of(spark) as jobs:
            unskew.skew_report(frame, "id")

        scans = [stage for stage in jobs.stages() if stage.input_records]
        assert sum(stage.input_records for stage in scans) == 1_000


class TestBadInput:
    """Refused before any job runs."""

    @pytest.fixture(autouse=True)
    def no_job(self, spark):
        with jobs_of(spark) as jobs:
            yield
        assert jobs.ids() == []

    def test_a_missing_column_is_named_with_the_nearest(self, odd):
        for key in ("ide", F.col("ide") + 1):
            with pytest.raises(UnknownNameError, match="called 'ide'; did you mean 'id'"):
                unskew.skew_report(odd, key)
        with pytest.raises(UnknownNameError, match="no field is called 'aa'; did you mean 'a'"):
            unskew.skew_report(odd, "deep.aa")

    def test_a_stream_is_refused(self, spark):
        with pytest.raises(InvalidTypeError, match="skew_report works on batch frames"):
            unskew.skew_report(spark.readStream.format("rate").load(), "value")

    @pytest.mark.parametrize("key", ["pairs", "pairs_within", "json", "any_case"])
    def test_a_key_that_spark_cannot_hash_is_refused(self, odd, key):
        with pytest.raises(InvalidTypeError, match=f"`key {key}` is of type"):
            unskew.skew_report(odd, "id", key)

    def test_a_key_that_cannot_be_brought_here_is_refused(self, odd):
        with pytest.raises(
            InvalidTypeError, match="`key months` is of type interval year to month"
        ):
            unskew.skew_report(odd, "months")

    @pytest.mark.parametrize("workers", [0, -1, 2.0, True, "3", None, 10**8])
    def test_a_number_of_workers_that_is_none_is_refused(self, odd, workers):
        with pytest.raises(InvalidParameterError, match="`workers` is"):
            unskew.skew_report(odd, "id", workers=workers)

    @pytest.mark.parametrize("top", [0, -1, 2.0, None, 2**31])
    def test_a_number_of_keys_that_is_none_is_refused(self, odd, top):
        with pytest.raises(InvalidParameterError, match="`top` is"):
            unskew.skew_report(odd, "id", top=top)

    def test_names_that_clash_are_refused(self, odd):
        for keys in (["count"], ["id", "ID"], ["id", F.col("tiny").alias("Share")]):
            with pytest.raises(InvalidInputError, match="give the key another"):
                unskew.skew_report(odd, *keys)

    def test_no_key_is_refused(self, odd):
        with pytest.raises(InvalidInputError, match="name at least one key column"):
            unskew.skew_report(odd)

    @pytest.mark.parametrize("key", [3, None, ["id"]])
    def test_a_key_that_is_no_column_is_refused(self, odd, key):
        with pytest.raises(InvalidTypeError, match=r"`key` is a .*; pass a name or a Column"):
            unskew.skew_report(odd, key)

    def test_what_is_no_frame_is_refused(self):
        with pytest.raises(InvalidTypeError, match="`df` is a Table; pass a DataFrame of Spark"):
            unskew.skew_report(pa.table({"id": [1]}), "id")

    def test_a_column_with_a_name_of_ours_is_refused(self, odd):
        with pytest.raises(InvalidInputError, match="has the column '_unskew_count'"):
            unskew.skew_report(odd.withColumnRenamed("count", "_unskew_count"), "id")
