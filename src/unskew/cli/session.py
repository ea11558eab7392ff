"""Spark for one command: started without its noise, watched, and stopped whatever happens."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from unskew.errors import UnskewError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The JVM starts sooner without its optimizing compiler, which pays off on more than this.
_QUICK_BYTES = 256 * 2**20
_SETTINGS = {
    "spark.log.level": "ERROR",
    # Moments as pandas writes them to Parquet, which Spark would not read at all.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
}


@contextlib.contextmanager
def progress(doing: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is being done, and for how long; gives the call that changes it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    # A copy of the terminal: standard error is Spark's log while the JVM starts.
    with (
        os.fdopen(os.dup(sys.stderr.fileno()), "w") as terminal,
        Progress(
            SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn(),
            console=Console(file=terminal), transient=True,
        ) as shown,
    ):  # fmt: skip
        task = shown.add_task(doing, total=None)
        yield lambda description: shown.update(task, description=description)


@contextlib.contextmanager
def local_spark(
    size: int, cores: int | None = None, conf: Mapping[str, str | int] | None = None
) -> Iterator[SparkSession]:
    """Start a session for so many bytes, on all cores, without its noise; stop it in the end.

    A session that is already there is used, and left as it is. What goes wrong in Spark is one
    line, as what goes wrong elsewhere. On Ctrl-C the JVM ends before this does.
    """
    from unskew.spark import local_session
    from unskew.spark.interrupt import interruptible

    name = f"unskew-{os.getpid()}"
    logging.disable(logging.CRITICAL)  # of PySpark, which logs what it also raises
    try:
        with tempfile.TemporaryFile() as log, interruptible() as jvm, _one_line(log):
            with _output_to(log.fileno()), jvm.noted():
                spark = local_session(
                    name,
                    cores=cores or os.cpu_count() or 1,
                    quick=size < _QUICK_BYTES,
                    conf={**_SETTINGS, **(conf or {})},
                )
            jvm.watch(spark)
            started = spark.conf.get("spark.app.name") == name
            try:
                yield spark
            finally:
                if started and not jvm.ending:
                    spark.stop()
    finally:
        logging.disable(logging.NOTSET)


@contextlib.contextmanager
def _output_to(log: int) -> Iterator[None]:
    """Send both outputs of this process to a file, and those of the JVM, which inherits them."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = [(number, os.dup(number)) for number in (1, 2)]
    try:
        for number, _ in kept:
            os.dup2(log, number)
        yield
    finally:
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)


@contextlib.contextmanager
def _one_line(log: IO[bytes]) -> Iterator[None]:
    try:
        yield
    except UnskewError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        raise UnskewError("SPARK_FAILED", _cause(error, log)) from error


def _cause(error: Exception, log: IO[bytes]) -> str:
    """Find the line that says what went wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    if "JAVA_GATEWAY_EXITED" in lines[0]:
        # A JVM that does not start says why in its output alone.
        log.seek(0)
        logged = log.read().decode(errors="replace").strip().splitlines()
        return (logged or lines)[-1]
    if lines[0].startswith("An error occurred while calling"):
        # It is followed by a chain of Java exceptions, of which the last is the first cause.
        causes = [
            line
            for line in lines[1:]
            if line.startswith((":", "Caused by:")) and "[CIRCULAR REFERENCE" not in line
        ]
        return (causes or lines)[-1].removeprefix("Caused by:").lstrip(": ")
    return lines[0]
