from pyspark.sql import functions as F

from unskew.spark.identity import identity_hash

NAN, NULL = "double('NaN')", "cast(null as double)"
ALIKE = {
    "numbers": [(NAN, NULL), (NULL, NAN), (NULL, NULL), ("0D", NULL), (NULL, "0D")],
    "lists": [
        (f"cast({each} as array<double>)",)
        for each in ("null", "array()", "array(null)", "array(null, null)")
    ]
    + [(f"array({NAN}, {NULL})",), (f"array({NULL}, {NAN})",)],
    "structs": [
        (f"named_struct('a', {a}, 'b', {b})",)
        for a, b in [(NULL, NULL), ("1D", NULL), (NULL, "1D"), (NAN, NULL)]
    ]
    + [("cast(null as struct<a double, b double>)",)],
    "deep": [
        (f"cast({each} as array<struct<x array<int>>>)",)
        for each in (
            "null",
            "array(null)",
            "array(named_struct('x', null))",
            "array(named_struct('x', array()))",
            "array(named_struct('x', array(null)))",
        )
    ],
}


def test_keys_that_xxhash64_takes_for_one_are_told_apart(spark):
    for name, keys in ALIKE.items():
        rows = [
            spark.range(1).selectExpr(*(f"{part} as k{at}" for at, part in enumerate(key)))
            for key in keys
        ]
        frame = rows[0]
        for row in rows[1:]:
            frame = frame.union(row)
        columns = [F.col(column) for column in frame.columns]
        kinds = [field.dataType for field in frame.schema]
        hashes = frame.select(identity_hash(columns, kinds), F.xxhash64(*columns)).collect()
        assert len({row[0] for row in hashes}) == len(keys), name
        assert len({row[1] for row in hashes}) < len(keys), f"{name}: else nothing is shown"


def test_equal_keys_have_one_hash(spark):
    pairs = [
        ("0D", "-0D"),
        (NAN, f"-{NAN}"),
        ("array(0D, 1D)", "array(-0D, 1D)"),
        ("named_struct('a', 0D)", "named_struct('a', -0D)"),
    ]
    for one, other in pairs:
        frame = (
            spark.range(1)
            .selectExpr(f"{one} as k")
            .union(spark.range(1).selectExpr(f"{other} as k"))
        )
        hashes = frame.select(identity_hash([F.col("k")], [frame.schema["k"].dataType]))
        assert hashes.distinct().count() == 1, (one, other)


def test_a_struct_may_have_a_name_twice(spark):
    kinds = {
        "twice": "named_struct('a', id % 2, 'a', id % 3)",
        "in two cases": "named_struct('a', id % 2, 'A', named_struct('b', id % 3, 'b', 1))",
        "in a list": "array(named_struct('a', id % 2, 'a', id % 3))",
        "in a map": "map('key', named_struct('a', id % 2, 'a', id % 3))",
    }
    for name, kind in kinds.items():
        frame = spark.range(12).selectExpr(f"{kind} as k")
        hashes = frame.select(identity_hash([F.col("k")], [frame.schema["k"].dataType]))
        assert hashes.distinct().count() == 6, name
