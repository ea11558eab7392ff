from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from unskew import hash_keys

ROWS = 120
EDGE_OF_BYTES = [
    edge for k in range(1, 16) for b in [2 ** (8 * k - 1)] for edge in (b - 1, b, -b, -b - 1)
]


def column(values, kind, random):
    """A column of the edges given, with nulls among them, then of null or one of them at random."""
    rows = [*values[: ROWS // 2], None, *values[ROWS // 2 :]][:ROWS]
    while len(rows) < ROWS:
        rows.append(None if random.random() < 0.15 else values[random.integers(len(values))])
    return pa.array(rows, kind)


def whole_numbers(bits, random):
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return [low, high, 0, 1, -1, *random.integers(low, high, 60, endpoint=True).tolist()]


def patterns(words, floats, infinity, random):
    """Floats of any bits: both zeros, every sort of NaN, the smallest and the largest."""
    top = (np.iinfo(words).max >> 1) + 1
    edges = [0, top, 1, top | 1, infinity, top | infinity, infinity | 1, infinity | top | 1]
    edges += [
        infinity | infinity >> 1,
        np.iinfo(words).max,
        *random.integers(0, 2 * top, 60, words),
    ]
    return list(np.array(edges, words).view(floats))


def decimals(precision, scale, random):
    limit = 10**precision - 1
    drawn = [int.from_bytes(random.bytes(16), "big", signed=True) % limit for _ in range(20)]
    unscaled = [0, 1, -1, limit, -limit, *EDGE_OF_BYTES, *drawn, *(-each for each in drawn)]
    return [Decimal(f"{each}E-{scale}") for each in unscaled if abs(each) <= limit]


def texts(random):
    letters = np.array(list("aZ0 \0ßé日本語🙂"))
    lengths = [0, 0, *range(1, 101)]
    return ["".join(random.choice(letters, length)) for length in lengths]


@pytest.fixture(scope="module")
def table():
    """Columns of every type that Spark takes from Arrow and can group by, by Spark's name."""
    random = np.random.default_rng(7)
    times = [0, 1, -1, 1_700_000_000_000_000, -62_135_596_800_000_000, 253_402_300_799_999_999]
    days = [0, 1, -1, 20_000, -719_162, 2_932_896]
    spans = [0, 1, -1, 2**62, -(2**62), *random.integers(-(2**60), 2**60, 20).tolist()]
    columns = {
        "string": column(texts(random), pa.string(), random),
        "binary": column([random.bytes(n) for n in range(101)], pa.binary(), random),
        "tinyint": column(whole_numbers(8, random), pa.int8(), random),
        "smallint": column(whole_numbers(16, random), pa.int16(), random),
        "int": column(whole_numbers(32, random), pa.int32(), random),
        "bigint": column(whole_numbers(64, random), pa.int64(), random),
        "float": column(patterns(np.uint32, "f4", 0x7F800000, random), pa.float32(), random),
        "double": column(patterns(np.uint64, "f8", 0x7FF << 52, random), pa.float64(), random),
        "boolean": column([True, False], pa.bool_(), random),
        "date": column(days, pa.int32(), random).view(pa.date32()),
        "timestamp": column(times, pa.int64(), random).view(pa.timestamp("us", "UTC")),
        "interval": column(spans, pa.int64(), random).view(pa.duration("us")),
    }
    for precision, scale in [
        (1, 0),
        (9, 2),
        (18, 0),
        (18, 18),
        (19, 0),
        (28, 9),
        (38, 0),
        (38, 38),
    ]:
        kind = pa.decimal128(precision, scale)
        columns[f"decimal_{precision}_{scale}"] = column(
            decimals(precision, scale, random), kind, random
        )
    absent = pa.array(random.random(ROWS) < 0.2)
    inner = pa.StructArray.from_arrays(
        [columns["double"], columns["decimal_28_9"]],
        ["d", "e"],
        mask=absent.take(pa.array(range(ROWS))[::-1]),
    )
    columns["struct"] = pa.StructArray.from_arrays(
        [columns["int"], columns["string"], inner], ["i", "s", "in"], mask=absent
    )
    columns["void"] = pa.nulls(ROWS)
    return pa.table({"row": pa.array(range(ROWS)), **columns})


@pytest.fixture(scope="module")
def combinations(table):
    """Keys of several columns: by twos to fives, in any order, and all at once."""
    names = [*(name for name in table.column_names if name != "row"), "timestamp_ntz"]
    random = np.random.default_rng(11)
    drawn = [random.choice(names, random.integers(2, 6), replace=False).tolist() for _ in range(25)]
    return [*([name] for name in names), *drawn, names, names[::-1], ["int", "int"]]


@pytest.fixture(scope="module")
def answer(spark, table, combinations):
    """The table as it comes back from Spark, and Spark's hash of every combination: one job."""
    frame = spark.createDataFrame(table)
    # A shuffle, so that the hashes are computed in tasks and not while the query is planned.
    frame = frame.withColumn("timestamp_ntz", F.col("timestamp").cast("timestamp_ntz")).repartition(
        2
    )
    hashes = [F.xxhash64(*keys).alias(f"h{at}") for at, keys in enumerate(combinations)]
    return frame.select("*", *hashes).toArrow().sort_by("row")


def test_keys_are_hashed_as_spark_hashes_them(answer, combinations):
    found = {
        ", ".join(keys): hash_keys(tuple(answer[key] for key in keys)).view(np.int64).tolist()
        for keys in combinations
    }

    assert found == {
        ", ".join(keys): answer[f"h{at}"].to_pylist() for at, keys in enumerate(combinations)
    }


def test_keys_may_be_hashed_before_they_go_to_spark(table, answer, combinations):
    # A stream replayed in the simulator must meet the workers that it meets on Spark.
    for at, keys in enumerate(combinations):
        if "timestamp_ntz" not in keys:
            found = hash_keys(tuple(table[key] for key in keys)).view(np.int64)
            assert found.tolist() == answer[f"h{at}"].to_pylist(), keys


def test_every_type_came_to_spark_as_itself(spark, table, answer):
    # Else two types that happen to be hashed alike would pass for one another.
    found = dict(spark.createDataFrame(table).dtypes)

    del found["row"]
    found["struct"] = found["struct"].split("<")[0]
    assert found == {
        name: {"interval": "interval day to second"}.get(
            name, "decimal({},{})".format(*name.split("_")[1:]) if "_" in name else name
        )
        for name in found
    }
    assert answer["timestamp_ntz"].type == pa.timestamp("us")
    assert answer["timestamp"].type.tz is not None


def test_no_column_but_the_one_without_type_lacks_values_or_nulls(table):
    for name in table.column_names[1:-1]:
        assert 0 < table[name].null_count < ROWS, name


@pytest.mark.parametrize("tz", [None, "UTC", "America/New_York"])
def test_coarser_and_finer_times_are_hashed_as_the_microseconds_spark_makes_of_them(spark, tz):
    ticks = pa.array([0, 1, -1, 999, 1_000, -999, -1_000, -1_001, None], pa.int64())
    times = pa.table({unit: ticks.view(pa.timestamp(unit, tz)) for unit in ("s", "ms", "us", "ns")})
    kind = "timestamp_ntz" if tz is None else "timestamp"
    schema = ", ".join(f"{unit} {kind}" for unit in times.column_names)

    frame = spark.createDataFrame(times, schema)
    hashed = frame.select(*(F.xxhash64(unit).alias(unit) for unit in times.column_names)).toArrow()

    for unit in times.column_names:
        assert hash_keys(times[unit]).view(np.int64).tolist() == hashed[unit].to_pylist(), unit
