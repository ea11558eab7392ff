"""Run by test_cluster in a process of its own: unskew on executors, of which some are killed.

A reduce task waits at a gate unless it is one of the first. Once those are done, an executor is
killed, and only then does the gate open: some reduce tasks have read what the map tasks wrote at
first, and the others read what was written when these ran again.
"""

from __future__ import annotations

import functools
import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.frames import ROW, multiset
from tests.spark.operations import OPERATIONS, all_differences
from tests.spark.processes import executors, jvm_flags, wait_for
from unskew.grouping.base import Grouping, GroupingSpec, Router, Trait
from unskew.grouping.w_choices import WChoices
from unskew.spark.session import settings

EXECUTORS = 2
# More than the executors run at once: at every moment of a stage some tasks have yet to begin.
WORKERS = 8
ROWS = 12_000
KEYS = 97
CHECKSUMS = (
    "spark.sql.shuffle.orderIndependentChecksum.enabled",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch",
)
RANDOM = "random"
CARELESS = "careless"


class Case(NamedTuple):
    """What runs while an executor is killed."""

    source: str
    """What stands in front of the router: one of `SOURCES`."""
    grouping: str
    """A name of `unskew.groupings`, or of `FORBIDDEN`."""
    operation: str = "repartition"
    checksums: bool | None = None
    """Whether Spark's checksums are on, or None: off at first, and then as unskew leaves them."""
    collected: bool = False
    """Whether the reduce tasks are the last ones, whose results Spark cannot take back."""
    seed: int = 1
    """Decides, with the rest, at which moment the executor is killed."""


class Outcome(NamedTuple):
    """What came of it."""

    lost: int
    """Rows that are missing from the result."""
    added: int
    """Rows that should not be in the result, or not as often."""
    error: str | None
    """Why there is no result."""
    checksums: list[str]
    """How Spark's checksums stood when the job ran."""
    finished: int
    """Reduce tasks that were done when the executor was killed."""
    attempts: int
    """How often the reduce stage ran: a second time only if map output was lost."""


@dataclass(frozen=True)
class CarelessGrouping(WChoices):
    """One that does not say that order matters, so that unskew does nothing about it."""

    spec: ClassVar[GroupingSpec] = GroupingSpec(
        CARELESS, "none", WChoices.spec.traits & ~Trait.ORDER_DEPENDENT
    )


@dataclass(frozen=True)
class RandomGrouping(Grouping):
    """One that sends the rows of a repeated task elsewhere, whatever their order."""

    spec: ClassVar[GroupingSpec] = GroupingSpec(RANDOM, "none", Trait.SPLITS_KEYS)

    def _start(self, source):  # noqa: ARG002 - nothing is as it was
        return _RandomRouter(self, {})


class _RandomRouter(Router):
    def _route(self, hashes, weights):  # noqa: ARG002 - no load
        drawn = np.random.default_rng().integers(self.grouping.n_workers, size=len(hashes))
        return drawn.astype(np.int32)


FORBIDDEN: dict[str, type[Grouping]] = {CARELESS: CarelessGrouping, RANDOM: RandomGrouping}
"""What breaks law 3, to see what comes of it."""


def _scan(spark: SparkSession) -> DataFrame:
    key = F.when(F.col("id") % 2 == 0, 0).otherwise(F.col("id") % KEYS)
    return spark.range(ROWS, numPartitions=8).select(F.col("id").alias(ROW), key.alias("key"))


def _repartition(spark: SparkSession) -> DataFrame:
    return _scan(spark).repartition(8)


def _join(spark: SparkSession) -> DataFrame:
    keys = spark.range(KEYS).select(F.col("id").alias("key"))
    return _scan(spark).join(keys.hint("shuffle_hash"), "key").select(ROW, "key")


SOURCES: dict[str, Callable[[SparkSession], DataFrame]] = {
    "scan": _scan,
    "repartition": _repartition,
    "join": _join,
}


def cluster(folder: Path) -> SparkSession:
    """Start executors with one core each, whose shuffle files are lost when they die."""
    conf = {
        **settings(3, jvm_flags()),
        "spark.executor.extraJavaOptions": " ".join(jvm_flags()),
        "spark.scheduler.minRegisteredResourcesRatio": 1.0,
        # As on machines of their own: no executor reads the files of another, dead or alive.
        "spark.shuffle.readHostLocalDisk": False,
        # A dead executor does not come back: do not wait for it.
        "spark.shuffle.io.maxRetries": 1,
        "spark.shuffle.io.retryWait": "100ms",
        "spark.stage.maxConsecutiveAttempts": 20,
        "spark.task.maxFailures": 20,
        "spark.excludeOnFailure.enabled": False,
        # Few rows, and yet several tasks in every stage, and a join that shuffles.
        "spark.sql.adaptive.coalescePartitions.enabled": False,
        "spark.sql.autoBroadcastJoinThreshold": -1,
        "spark.sql.warehouse.dir": folder / "warehouse",
        # How many tasks are done is asked of what the UI would show.
        "spark.ui.liveUpdate.period": 0,
    }
    builder = SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,1024]")
    for name, value in conf.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    # Of every lost executor it would tell for pages.
    spark.sparkContext.setLogLevel("OFF")
    return spark


def survive(spark: SparkSession, folder: Path, case: Case) -> Outcome:
    """Run a case, and compare what it gives with what Spark gives when nobody dies."""
    expected = _undisturbed(spark, case.operation)
    place = folder / "-".join(map(str, case))
    place.mkdir()
    _meet(spark, place)
    kill = _Kill(spark, folder, place, repr(case))
    _set_checksums(spark, on=False)
    forbidden = FORBIDDEN.get(case.grouping)
    grouping = forbidden(WORKERS) if forbidden else case.grouping
    source = SOURCES[case.source](spark)
    frame = kill.gate(OPERATIONS[case.operation].ours(source, ["key"], WORKERS, grouping))
    if not case.collected:
        frame = frame.repartition(2, *frame.columns)
    if case.checksums is not None:
        _set_checksums(spark, on=case.checksums)
    checksums = [spark.conf.get(name) for name in CHECKSUMS]
    found, error = Counter(), None
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(frame.toArrow)
        stage = kill.strike(job)
        try:
            found = multiset(job.result())
        except (PySparkException, Py4JJavaError) as failure:
            error = str(failure)
    lost, added = (expected - found).total(), (found - expected).total()
    return Outcome(lost, added, error, checksums, kill.finished, kill.attempts(stage))


def _set_checksums(spark: SparkSession, *, on: bool) -> None:
    for name in CHECKSUMS:
        spark.conf.set(name, str(on).lower())


@functools.cache
def _undisturbed(spark: SparkSession, operation: str) -> Counter[Any]:
    return multiset(OPERATIONS[operation].spark(_scan(spark), ["key"], WORKERS).toArrow())


Batches = Iterator[pa.RecordBatch]


def _meet(spark: SparkSession, place: Path) -> None:
    """Wait until all executors can work: each has one core, and the tasks wait for each other."""

    def wait(batches: Batches) -> Batches:
        (place / f"here-{TaskContext.get().partitionId()}").touch()
        wait_for(lambda: len(list(place.glob("here-*"))) == EXECUTORS, "the other executors")
        yield from batches

    spark.range(EXECUTORS, numPartitions=EXECUTORS).mapInArrow(wait, "id long").count()


class _Kill:
    """The death of an executor in the middle of a stage."""

    def __init__(self, spark: SparkSession, folder: Path, place: Path, seed: str) -> None:
        # Of the others, each executor runs one, and at least one has not begun.
        self.finished = random.Random(seed).randint(1, WORKERS - EXECUTORS - 1)
        self._folder = folder
        self._place = place
        self._tracker = spark.sparkContext._jsc.sc().statusTracker()

    def gate(self, frame: DataFrame) -> DataFrame:
        """Let the first tasks pass, and the others only after the kill."""
        place, first = self._place, self.finished

        def wait(batches: Batches) -> Batches:
            task = TaskContext.get()
            if task.partitionId() >= first:
                (place / f"stage-{task.stageId()}").touch()
                wait_for((place / "open").exists, "the gate to open")
            yield from batches

        return frame.mapInArrow(wait, frame.schema)

    def strike(self, job: Future[pa.Table]) -> int:
        """Kill an executor when the first tasks are done, open the gate, and tell the stage."""
        try:
            stage = wait_for(lambda: self._stage(job), "a task at the gate")
            wait_for(lambda: self._info(stage).numCompletedTasks() == self.finished, "the first")
            before = self._ports()
            # The oldest is the quickest, and so has run most of the map tasks.
            _, pid = min(executors(self._folder).items())
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: before - self._ports(), "Spark to notice")
        finally:
            (self._place / "open").touch()
        return stage

    def attempts(self, stage: int) -> int:
        return 1 + self._info(stage).currentAttemptId()

    def _stage(self, job: Future[pa.Table]) -> int | None:
        if job.done():
            raise RuntimeError(f"ended before the kill: {job.exception()}")
        found = [path.name for path in self._place.glob("stage-*")]
        return int(found[0].removeprefix("stage-")) if found else None

    def _info(self, stage: int) -> Any:
        return self._tracker.getStageInfo(stage).get()

    def _ports(self) -> set[int]:
        return {executor.port() for executor in self._tracker.getExecutorInfos()}


def main(folder: Path, cases: list[Case]) -> None:
    spark = cluster(folder)
    compared = all_differences(spark)
    spark.conf.set("spark.sql.shuffle.partitions", WORKERS)
    outcomes = [survive(spark, folder, case) for case in cases]
    spark.stop()
    print(json.dumps({"differences": compared, "outcomes": outcomes}))


if __name__ == "__main__":
    question = json.loads(sys.argv[1])
    main(Path(question["folder"]), [Case(*each) for each in question["cases"]])
