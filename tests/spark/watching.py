"""What a call makes Spark do: how often it reads, and which jobs it runs."""

from __future__ import annotations

import contextlib
import io
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession


def plan(frame: DataFrame) -> str:
    """Return what Spark is going to do."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        frame.explain()
    return text.getvalue()


def passes(frame: DataFrame, folder: Path) -> tuple[DataFrame, Callable[[], dict[int, int]]]:
    """Return the same frame, and a call that says how often each of its partitions was read."""
    log = folder / "passes"
    log.mkdir()

    def note(batches: Any) -> Any:
        from pyspark import TaskContext

        # A file each, as tasks may write at the same time.
        (log / f"{TaskContext.get().partitionId()}.{uuid.uuid4()}").touch()
        yield from batches

    def count() -> dict[int, int]:
        return dict(sorted(Counter(int(file.name.split(".")[0]) for file in log.iterdir()).items()))

    return frame.mapInArrow(note, frame.schema), count


class Stage(NamedTuple):
    """What one stage has read."""

    id: int
    input_records: int


class Jobs:
    """The jobs of a group."""

    def __init__(self, spark: SparkSession, group: str) -> None:
        self._context: Any = spark.sparkContext
        self._group = group

    def ids(self) -> list[int]:
        """Give the numbers of these jobs."""
        # Listeners hear of jobs a moment after they have ended.
        self._context._jsc.sc().listenerBus().waitUntilEmpty()
        return sorted(self._context.statusTracker().getJobIdsForGroup(self._group))

    def stages(self) -> list[Stage]:
        """Give the stages that have run in these jobs."""
        store = self._context._jsc.sc().statusStore()
        found = {}
        for job in self.ids():
            ids = store.job(job).stageIds()
            for at in range(ids.size()):
                stage = store.lastStageAttempt(ids.apply(at))
                if stage.status().toString() != "SKIPPED":
                    found[stage.stageId()] = Stage(stage.stageId(), stage.inputRecords())
        return list(found.values())


@contextlib.contextmanager
def jobs_of(spark: SparkSession) -> Iterator[Jobs]:
    """Watch the jobs that run meanwhile."""
    context = spark.sparkContext
    group = str(uuid.uuid4())
    context.setJobGroup(group, "watched by a test")
    try:
        yield Jobs(spark, group)
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)


def cached(spark: SparkSession) -> int:
    """Count the frames and their pieces that Spark holds on to."""
    session: Any = spark
    manager = session._jsparkSession.sharedState().cacheManager()
    return int(spark.sparkContext._jsc.getPersistentRDDs().size()) + (not manager.isEmpty())
