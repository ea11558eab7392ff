import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import unskew
from unskew import _kernel
from unskew.spark import daemon


def test_workers_are_born_with_numba(spark):
    @F.arrow_udf("boolean")
    def has_numba(rows: pa.Array) -> pa.Array:
        import sys

        return pa.array(["numba" in sys.modules] * len(rows))

    result = spark.range(4, numPartitions=2).select(has_numba("id").alias("loaded")).collect()

    assert [row.loaded for row in result] == [True] * 4


def test_the_daemon_forks_from_a_single_thread(spark):
    @F.arrow_udf("long")
    def daemon_pid(rows: pa.Array) -> pa.Array:
        import os

        return pa.array([os.getppid()] * len(rows))

    pid = spark.range(1).select(daemon_pid("id").alias("pid")).first().pid

    assert b"unskew.spark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert len(list(Path(f"/proc/{pid}/task").iterdir())) == 1


def test_a_daemon_that_finds_no_cache_compiles_for_its_workers(tmp_path):
    package = Path(unskew.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, tmp_path / "unskew", ignore=ignored)
    code = """
import os
import numpy as np
import unskew
from unskew import _kernel
from unskew.grouping.catalog import CATALOG
from unskew.spark import daemon

def compiled():
    counts = (each.dispatcher.stats.cache_misses.values() for each in _kernel._KERNELS)
    return sum(sum(count) for count in counts)

# To compile them all takes long; that none is forgotten is seen in test_kernel.
for name in CATALOG.keys() - {"pkg"}:
    del CATALOG[name]
daemon._preload()
before = compiled()
unskew.grouping("pkg", 10).build().route(np.arange(3, dtype=np.uint64))
print(before > 0, compiled() - before, len(os.listdir("/proc/self/task")))
"""
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown.split() == ["True", "0", "1"]


@pytest.fixture
def served(monkeypatch):
    """Run the daemon's main without serving; says how often it came to that."""
    calls = []
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setattr(daemon, "manager", lambda: calls.append(1))
    yield calls
    gc.unfreeze()


def test_a_kernel_that_cannot_be_loaded_does_not_stop_the_daemon(served, monkeypatch, capfd):
    def broken():
        raise OSError("unreadable cache")

    monkeypatch.setattr(_kernel, "preload", broken)

    daemon.main()

    assert served == [1]
    assert "unreadable cache" in capfd.readouterr().err


def test_nothing_is_printed_where_spark_reads_the_port(served, monkeypatch, capfd):
    monkeypatch.setattr(_kernel, "preload", lambda: print("a stray line"))

    daemon.main()

    assert capfd.readouterr().out == ""
