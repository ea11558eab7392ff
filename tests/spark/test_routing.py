from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import unskew
from unskew.grouping.base import Trait

TUPLES = 5_000
# Several batches a task: the router must go on from one to the next.
BATCH = 700
COMPILED = [
    name for name in unskew.groupings() if Trait.COMPILED in unskew.grouping(name, 2).spec.traits
]


@pytest.fixture
def small_batches(spark):
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(setting)
    spark.conf.set(setting, BATCH)
    yield
    spark.conf.set(setting, before)


@pytest.fixture(scope="module")
def keys(spark):
    """A skewed stream of keys, a few of them null, on one partition."""
    ranks = np.random.default_rng(3).zipf(1.4, TUPLES)
    texts = [None if rank % 50 == 0 else f"key-{rank}" for rank in ranks.tolist()]
    return spark.createDataFrame(pa.table({"key": texts})).coalesce(1)


@pytest.mark.parametrize("name", unskew.groupings())
def test_a_route_made_on_spark_is_the_route_made_here(small_batches, keys, name):
    grouping = unskew.grouping(name, 7, seed=5)

    @F.arrow_udf("struct<worker int, batch int>")
    def route(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        router = grouping.build()
        for number, hashes in enumerate(batches):
            workers = pa.array(router.route(hashes.to_numpy()))
            numbers = pa.array([number] * len(hashes), pa.int32())
            yield pa.StructArray.from_arrays([workers, numbers], ["worker", "batch"])

    route = route.asNondeterministic()  # else the optimizer may run it twice
    made = keys.select("key", route(F.xxhash64("key")).alias("made")).toArrow()
    workers = made["made"].combine_chunks().field("worker")
    batches = made["made"].combine_chunks().field("batch")

    expected = grouping.build().route(unskew.hash_keys(made["key"]))
    assert workers.to_pylist() == expected.tolist()
    assert made["key"].null_count > 0
    assert len(set(workers.to_pylist())) == 7
    assert max(batches.to_pylist()) == TUPLES // BATCH


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
