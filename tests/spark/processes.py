"""Spark in process trees of its own, which leave nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyspark

from unskew.spark.archive import QUICK_FLAGS, archive_flags
from unskew.spark.java import find_java
from unskew.spark.session import LOOPBACK

ROOT = Path(__file__).parents[2]


def jvm_flags() -> list[str]:
    """Give the flags of a JVM that lives for a minute."""
    return [*QUICK_FLAGS, *archive_flags(find_java())]


def environment(folder: Path) -> dict[str, str]:
    """Give the environment of a process tree that writes to ``folder`` only."""
    home = folder / "home"
    home.mkdir()
    # Workers of a local cluster write their logs to $SPARK_HOME/work.
    for part in Path(pyspark.__file__).parent.iterdir():
        (home / part.name).symlink_to(part)
    java = find_java()
    return {
        **os.environ,
        **({} if java.java_home is None else {"JAVA_HOME": str(java.java_home)}),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": LOOPBACK,
    }


def ask(module: str, question: Any, environment: dict[str, str], folder: Path) -> Any:
    """Run a module of the tests, with a question as JSON, for the answer on its last line."""
    finished = subprocess.run(
        [sys.executable, "-m", module, json.dumps(question)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        # A trace of the JVM has a hundred lines that say nothing, each of them several times.
        lines = [line for line in finished.stderr.splitlines() if not line.startswith("\tat ")]
        raise AssertionError("\n".join(lines[-60:]))
    return json.loads(finished.stdout.splitlines()[-1])


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 90) -> Any:
    """Return what the condition gives once it holds."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.02)
    return found


def living(folder: Path) -> list[int]:
    """Find the processes of the tree that writes to ``folder``, wherever they are now."""
    mark = f"SPARK_LOCAL_DIRS={folder / 'local'}".encode()
    found = []
    for process in Path("/proc").iterdir():
        # A process may end while it is looked at, and a dead one has no environment.
        with contextlib.suppress(OSError):
            if process.name.isdigit() and mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def executors(folder: Path) -> dict[int, int]:
    """Find the executors of the tree that writes to ``folder``: process ids by executor ids."""
    found = {}
    for pid in living(folder):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if "--executor-id" in words:
                found[int(words[words.index("--executor-id") + 1])] = pid
    return found


@contextlib.contextmanager
def ended_afterwards(folder: Path) -> Iterator[None]:
    """End what is left of the tree that writes to ``folder``."""
    try:
        yield
    finally:
        for pid in living(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
