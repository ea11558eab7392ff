"""Ctrl-C ends the JVM at once, whatever runs in it."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# For a JVM to remove its temporary files once it is told to end; half a second is the rule.
_GRACE_SECONDS = 10


class Jvm:
    """The JVM that PySpark has started, if it has, and whether it was told to end."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[Any]] = []
        self.ending = False

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Note what is started: PySpark tells it only once the JVM has answered."""
        from pyspark import java_gateway

        processes = self.processes

        class Noted(subprocess.Popen[Any]):
            def __init__(self, *args: Any, **options: Any) -> None:
                processes.append(self)
                super().__init__(*args, **options)

        plain = vars(java_gateway)["Popen"]
        vars(java_gateway)["Popen"] = Noted
        try:
            yield
        finally:
            vars(java_gateway)["Popen"] = plain

    def watch(self, spark: SparkSession) -> None:
        """Take Ctrl-C in place of PySpark."""
        if self.processes:
            signal.signal(signal.SIGINT, self._interrupt)
            # A thread of PySpark would print a traceback when the JVM goes.
            context: Any = spark.sparkContext
            context._accumulatorServer.handle_error = lambda *_: None

    def _interrupt(self, *_: object) -> NoReturn:
        self.tell()
        raise KeyboardInterrupt

    def tell(self) -> None:
        """Tell the JVM to end; another Ctrl-C does not hurry it."""
        self.ending = True
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for process in self.processes:
            if process.pid:  # none, if interrupted right before
                process.terminate()

    def wait(self) -> None:
        """Wait for the end, not for long."""
        for process in self.processes:
            if process.pid:
                try:
                    process.wait(_GRACE_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()


@contextlib.contextmanager
def interruptible() -> Iterator[Jvm]:
    """End the JVM on Ctrl-C, without a word to what runs in it, which may be too busy to answer.

    PySpark asks it to cancel the jobs. It then raises what the JVM says of them in place of
    KeyboardInterrupt, and it leaves a JVM behind that was just starting.
    """
    jvm = Jvm()
    before = signal.getsignal(signal.SIGINT)
    try:
        yield jvm
    except BaseException as error:
        if not (jvm.ending or isinstance(error, KeyboardInterrupt)):
            raise
        jvm.tell()
        jvm.wait()
        raise KeyboardInterrupt from None
    finally:
        if signal.getsignal(signal.SIGINT) is not before:
            signal.signal(signal.SIGINT, before)
