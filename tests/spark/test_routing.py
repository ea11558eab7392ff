import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import unskew
from unskew.grouping.base import Trait
from unskew.spark.route import routed

TUPLES = 5_000
# Several batches a task: the router must go on from one to the next.
BATCH = 700
COMPILED = [
    name for name in unskew.groupings() if Trait.COMPILED in unskew.grouping(name, 2).spec.traits
]


@pytest.fixture(scope="module")
def keys(spark):
    """A skewed stream of keys, a few of them null, on one partition."""
    ranks = np.random.default_rng(3).zipf(1.4, TUPLES)
    texts = [None if rank % 50 == 0 else f"key-{rank}" for rank in ranks.tolist()]
    return spark.createDataFrame(pa.table({"key": texts})).coalesce(1)


GROUPINGS = {name: unskew.grouping(name, 7, seed=5) for name in unskew.groupings()}


@pytest.fixture(scope="module")
def small_batches(spark):
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(setting)
    spark.conf.set(setting, BATCH)
    yield
    spark.conf.set(setting, before)


@pytest.fixture(scope="module")
def routes(small_batches, keys):
    """The keys with their workers by every grouping, and the number of the batch: one job."""
    kinds = ", ".join(f"`{name}` int" for name in GROUPINGS)

    @F.arrow_udf(f"struct<{kinds}, batch int>")
    def route(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        columns = ((hashes.to_numpy(),) for hashes in batches)
        streams = zip(GROUPINGS.values(), itertools.tee(columns, len(GROUPINGS)), strict=True)
        answers = [routed(grouping.build(), stream) for grouping, stream in streams]
        for number, workers in enumerate(zip(*answers, strict=True)):
            numbers = pa.array([number] * len(workers[0]), pa.int32())
            yield pa.StructArray.from_arrays([*workers, numbers], [*GROUPINGS, "batch"])

    route = route.asNondeterministic()  # else the optimizer may run it twice
    made = keys.select("key", route(F.xxhash64("key")).alias("made")).toArrow()
    assert made["key"].null_count > 0
    made = made.flatten()
    assert max(made["made.batch"].to_pylist()) == TUPLES // BATCH
    return made


@pytest.mark.parametrize("name", GROUPINGS)
def test_a_route_made_on_spark_is_the_route_made_here(routes, name):
    workers = routes[f"made.{name}"].to_pylist()

    assert workers == GROUPINGS[name].build().route(unskew.hash_keys(routes["key"])).tolist()
    assert len(set(workers)) == 7


def test_workers_never_compile_what_is_in_the_cache(spark, keys, monkeypatch):
    groupings = [unskew.grouping(name, 7) for name in COMPILED]
    for grouping in groupings:  # what is compiled here is in the cache from now on
        grouping.build().route(np.arange(10, dtype=np.uint64))
    # Workers of another environment are new ones, from a new daemon: those at hand may have
    # compiled in an earlier test, when the cache was empty.
    monkeypatch.setitem(spark.sparkContext.environment, "UNSKEW_TEST", "new workers")

    @F.arrow_udf("struct<hits long, misses long>")
    def compiled(hashes: pa.Array) -> pa.Array:
        import os

        from unskew import _kernel

        assert os.environ["UNSKEW_TEST"] == "new workers"
        for grouping in groupings:
            grouping.build().route(hashes.to_numpy())
        stats = [kernel.dispatcher.stats for kernel in _kernel._KERNELS]
        counted = {
            "hits": sum(sum(each.cache_hits.values()) for each in stats),
            "misses": sum(sum(each.cache_misses.values()) for each in stats),
        }
        return pa.array([counted] * len(hashes))

    counted = keys.limit(10).select(compiled(F.xxhash64("key")).alias("counted")).first().counted

    assert counted.hits >= len(COMPILED)
    assert counted.misses == 0
