import inspect
import re
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

import unskew
from tests.spark.watching import cached, jobs_of, passes
from unskew.control import CostModel
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    UnknownNameError,
)
from unskew.spark import frames, report
from unskew.spark.advise import LEAST_SAMPLE, _sampled, advise_rows

SIZES = [500, 3_000, 16_500, 30_000]
"""Rows of the partitions of `uneven`."""


def best(advice):
    (row,) = advice.where("recommended").collect()
    return row


@pytest.fixture(scope="module")
def uneven(spark):
    """Rows 0, 1, 2, ... in partitions of very different sizes."""
    place = sum((F.col("row") >= int(end)).cast("int") for end in np.cumsum(SIZES)[:-1])
    # From one partition, so that the rows stay in order.
    rows = spark.range(sum(SIZES), numPartitions=1).withColumnRenamed("id", "row")
    return rows.repartitionById(len(SIZES), place)


@pytest.fixture(scope="module")
def row_of(uneven):
    """The row that has a hash."""
    table = uneven.select("row", F.xxhash64("row").alias("hash")).toArrow()
    hashes = table["hash"].to_numpy().view(np.uint64)
    return dict(zip(hashes.tolist(), table["row"].to_pylist(), strict=True))


@pytest.fixture(scope="module")
def skewed(spark):
    """Half of the rows have one key; the others, and all costs, are even."""
    return spark.range(40_000, numPartitions=3).selectExpr(
        "if(id % 2 = 0, -1, id % 5000) as key",
        "id % 5000 as even",
        "if(id % 5000 = 0, 5000, 1) as cost",
        "cast(id as string) as text",
        "map(id, id) as pairs",
    )


class TestAdvice:
    def test_columns_are_as_documented(self, skewed):
        advice = unskew.advise(skewed, "key", workers=8)

        assert advice.schema.simpleString() == (
            "struct<grouping:string,splits_keys:boolean,imbalance:double,replication:double,"
            "estimated_time:double,recommended:boolean,reason:string>"
        )
        rows = advice.collect()
        assert sorted(row.grouping for row in rows) == sorted(unskew.groupings())
        assert [row.recommended for row in rows] == [True] + [False] * (len(rows) - 1)
        for row in rows:
            assert row.splits_keys == unskew.grouping(row.grouping, 2).splits_keys
            assert 1 <= row.imbalance <= row.estimated_time

    def test_a_hot_key_is_split(self, skewed):
        advice = unskew.advise(skewed, "key", workers=8)

        plain = advice.where("grouping = 'key'").first()
        # Half of the rows, and its share of the others.
        assert plain.imbalance == pytest.approx(8 * 0.5 + 0.5, rel=0.05)
        assert best(advice).splits_keys
        assert best(advice).estimated_time < 1.3

    def test_even_keys_are_not_split(self, skewed):
        row = best(unskew.advise(skewed, "even", workers=8))

        assert (row.grouping, row.splits_keys) == ("key", False)
        assert row.reason.startswith("Nothing to do")

    def test_several_columns_make_one_key(self, skewed):
        assert best(unskew.advise(skewed, "key", workers=8)).splits_keys
        both = best(unskew.advise(skewed, "key", "even", workers=8))
        assert not both.splits_keys

    def test_weights_decide_what_is_hot(self, skewed):
        by_rows = best(unskew.advise(skewed, "even", workers=8))
        by_cost = best(unskew.advise(skewed, "even", workers=8, weight="cost"))
        by_text = best(
            unskew.advise(skewed, "even", workers=8, weight=F.col("cost").cast("string"))
        )

        assert not by_rows.splits_keys
        assert by_cost.splits_keys
        assert by_text == by_cost, "columns of CSV are strings"

    def test_merging_that_costs_much_is_avoided(self, skewed):
        costs = CostModel(merge=1_000)

        assert not best(unskew.advise(skewed, "key", workers=8, costs=costs)).splits_keys

    def test_a_frame_without_rows_needs_nothing(self, skewed):
        for weight in (None, "cost"):
            advice = unskew.advise(skewed.where("even < 0"), "key", workers=8, weight=weight)

            row = best(advice)
            assert (row.grouping, row.imbalance, row.estimated_time) == ("key", None, None)
            assert advice.count() == len(unskew.groupings())

    def test_one_key_alone_is_split(self, spark):
        row = best(unskew.advise(spark.range(1_000), F.lit(None), workers=4))

        assert row.splits_keys
        assert row.imbalance == pytest.approx(1, rel=0.05)

    def test_distinct_keys_are_not_split(self, spark):
        assert best(unskew.advise(spark.range(20_000), "id", workers=4)).grouping == "key"

    def test_workers_are_those_of_a_shuffle_unless_given(self, skewed):
        assert advise_rows(skewed, "key").workers == 3, "spark.sql.shuffle.partitions, as set here"
        assert advise_rows(skewed, "key", workers=np.int64(9)).workers == 9

    def test_the_same_seed_gives_the_same_advice(self, uneven):
        def ask(seed):
            return unskew.advise(uneven, "row", workers=7, sample=1_000, seed=seed).collect()

        assert ask(1) == ask(1)
        assert ask(1) != ask(2)


class TestSample:
    def test_every_row_has_the_same_chance(self, uneven, row_of):
        n_seeds = 6
        counts = np.zeros(sum(SIZES))
        for seed in range(n_seeds):
            for each in _sampled(uneven, [F.col("row")], None, 4_000, seed).hashes.tolist():
                counts[row_of[each]] += 1

        # A tenth of a partition after the other: the first rows are as likely as the last, and
        # those of a small partition as those of a large one.
        cells = [
            cell
            for part in np.split(counts, np.cumsum(SIZES)[:-1])
            for cell in np.array_split(part, 10)
        ]
        found = np.array([cell.sum() for cell in cells])
        expected = counts.sum() * np.array([len(cell) for cell in cells]) / len(counts)
        surprise = ((found - expected) ** 2 / expected).sum()
        freedom = len(cells) - 1
        assert counts.sum() > n_seeds * 1_000
        assert surprise < freedom + 4 * np.sqrt(2 * freedom)
        assert counts.max() < n_seeds, "a row is sampled every time"

    def test_a_sample_is_about_as_large_as_asked(self, uneven, spark):
        rows = sum(SIZES)
        even = spark.range(rows, numPartitions=5).withColumnRenamed("id", "row")
        one = even.coalesce(1)
        # Of 8,000 rows no partition gives more than a quarter.
        for frame, asked, expected in [
            (even, 100, 100),
            (even, 8_000, 8_000),
            (uneven, 100, 100),
            (uneven, 8_000, 2_000 * rows / max(SIZES)),
            (one, 8_000, 2_000),
        ]:
            advised = advise_rows(frame, "row", workers=4, sample=asked)
            # Five standard deviations.
            assert advised.sampled == pytest.approx(expected, abs=5 * np.sqrt(expected))
            assert advised.rows == pytest.approx(rows, rel=0.02)

    def test_a_frame_that_is_small_is_taken_whole(self, skewed, spark):
        small = advise_rows(skewed.limit(50), "key", workers=4)
        assert (small.rows, small.sampled) == (50, 50)
        # More partitions than rows.
        thin = advise_rows(spark.range(7, numPartitions=20), "id", workers=4)
        assert (thin.rows, thin.sampled) == (7, 7)

    def test_keys_made_with_the_same_seed_are_not_its_luck(self, spark):
        # Where rand(seed) makes the keys and draws the sample, it would hold the lowest keys only.
        frame = spark.range(50_000, numPartitions=4).select((F.rand(0) * 1_000).alias("key"))

        drawn = _sampled(frame, [F.col("key").cast("int")], None, 4_000, 0)

        keys = len(np.unique(drawn.hashes))
        assert keys > 900, f"a sample of {len(drawn.hashes)} rows has {keys} of 1,000 keys"

    def test_weights_stay_with_their_rows(self, uneven, row_of):
        drawn = _sampled(uneven, [F.col("row")], F.col("row") * 2, 2_000, 0)

        rows = [row_of[each] for each in drawn.hashes.tolist()]
        assert drawn.weights.tolist() == [2.0 * row for row in rows]


class TestCost:
    def test_the_data_is_read_once(self, spark, tmp_path):
        frame, count = passes(spark.range(5_000, numPartitions=4), tmp_path)

        advice = unskew.advise(frame, "id", workers=4, sample=200)

        assert count() == dict.fromkeys(range(4), 1)
        advice.collect()
        assert count() == dict.fromkeys(range(4), 1), "looking at the advice reads the data again"

    def test_nothing_stays_cached(self, spark, skewed):
        assert cached(spark) == 0, "else nothing is shown"
        held = skewed.limit(1).cache()
        assert cached(spark) > 0, "else nothing would be seen"
        held.unpersist()

        unskew.advise(skewed, "key", workers=4)
        assert cached(spark) == 0

        for broken in (F.raise_error(F.lit("broken")), F.lit(-1)):
            with pytest.raises((PySparkException, InvalidInputError)):
                unskew.advise(skewed, "key", workers=4, weight=broken.cast("double"))
            assert cached(spark) == 0

    def test_nothing_of_classic_spark_is_touched(self):
        # Connect has none of it.
        for module in (report, sys.modules["unskew.spark.advise"], frames):
            source = inspect.getsource(module)
            assert not re.search(r"\.rdd\b|sparkContext|\b_j[a-z]|py4j|_sc\b", source), module


class TestBadInput:
    """Refused before any job runs."""

    @pytest.fixture(autouse=True)
    def no_job(self, spark):
        with jobs_of(spark) as jobs:
            yield
        assert jobs.ids() == []

    def test_a_missing_column_is_named_with_the_nearest(self, skewed):
        with pytest.raises(UnknownNameError, match="called 'kye'; did you mean 'key'"):
            unskew.advise(skewed, "kye", workers=4)
        with pytest.raises(UnknownNameError, match="called 'cots'; did you mean 'cost'"):
            unskew.advise(skewed, "key", workers=4, weight="cots")

    def test_a_stream_is_refused(self, spark):
        with pytest.raises(InvalidTypeError, match="advise works on batch frames"):
            unskew.advise(spark.readStream.format("rate").load(), "value", workers=4)

    def test_a_map_is_refused(self, skewed):
        with pytest.raises(InvalidTypeError, match="a map cannot be a key"):
            unskew.advise(skewed, "pairs", workers=4)
        with pytest.raises(InvalidTypeError, match=r"`weight` is of type map.*; pass numbers"):
            unskew.advise(skewed, "key", workers=4, weight="pairs")

    def test_no_key_is_refused(self, skewed):
        with pytest.raises(InvalidInputError, match="name at least one key column"):
            unskew.advise(skewed, workers=4)

    def test_what_is_no_frame_is_refused(self):
        with pytest.raises(InvalidTypeError, match="`df` is a Table; pass a DataFrame of Spark"):
            unskew.advise(pa.table({"id": [1]}), "id", workers=4)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("workers", 1),
            ("workers", 0),
            ("workers", 2.5),
            ("workers", 10**8),
            ("sample", LEAST_SAMPLE - 1),
            ("sample", 2**31),
            ("seed", -1),
            ("seed", 2**63),
        ],
    )
    def test_settings_that_make_no_sense_are_refused(self, skewed, name, value):
        with pytest.raises(InvalidParameterError, match=f"`{name}` is {value}"):
            unskew.advise(skewed, "key", **{"workers": 4, name: value})

    def test_costs_that_are_no_model_are_refused(self, skewed):
        with pytest.raises(InvalidTypeError, match="`costs` is a float; pass a CostModel"):
            unskew.advise(skewed, "key", workers=4, costs=1.0)


@pytest.mark.parametrize(
    ("weight", "found"),
    [("-1", "-1.0"), ("'NaN'", "null or no number"), ("null", "null or no number"),
     ("text || 'x'", "null or no number"), ("1e201", "1e+201")],
)  # fmt: skip
def test_a_weight_that_is_none_is_refused(skewed, weight, found):
    with pytest.raises(InvalidInputError, match=re.escape(f"`weight` is {found} in some row")):
        unskew.advise(skewed, "key", workers=4, weight=F.expr(weight))
