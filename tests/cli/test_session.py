import contextlib
import io
import os
import pty
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError
from pyspark import java_gateway
from pyspark.errors import AnalysisException, PySparkRuntimeError

from tests.spark.processes import wait_for
from unskew.cli.session import local_spark, progress
from unskew.errors import InvalidInputError, UnskewError


class FakeSession:
    """A session that knows its name, and whether it was stopped."""

    def __init__(self, name):
        self.conf = {"spark.app.name": name}
        self.sparkContext = SimpleNamespace(_accumulatorServer=SimpleNamespace())
        self.stopped = False

    def stop(self):
        self.stopped = True


class Starter:
    """Starts sessions that are none, with a process in the place of the JVM if it has a script."""

    def __init__(self):
        self.sessions, self.options = [], []
        self.script = self.jvm = None
        self.meanwhile = lambda: None

    def __call__(self, name, **options):
        if self.script is not None:
            # With a pipe, as PySpark starts it.
            self.jvm = java_gateway.Popen(["sh", "-c", self.script], stdin=subprocess.PIPE)
            self.meanwhile()
        self.options.append(options)
        self.sessions.append(FakeSession(name))
        return self.sessions[-1]

    def end(self):
        if self.jvm is not None:
            self.jvm.kill()
            self.jvm.wait()
            self.jvm.stdin.close()


@pytest.fixture
def spark(monkeypatch):
    starter = Starter()
    monkeypatch.setattr("unskew.spark.local_session", starter)
    yield starter
    starter.end()


def interrupt():
    """Press Ctrl-C, and wait for it to arrive."""
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)
    raise AssertionError("Ctrl-C has not arrived")


class TestEnd:
    def test_a_session_is_stopped_in_the_end(self, spark):
        with local_spark(0) as given:
            assert given is spark.sessions[0]
            assert not given.stopped
        assert given.stopped

    def test_a_session_is_stopped_whatever_happens(self, spark):
        with pytest.raises(KeyError), local_spark(0):
            raise KeyError
        assert spark.sessions[0].stopped

    def test_a_session_that_was_there_is_left_as_it_is(self, monkeypatch):
        there = FakeSession("of somebody else")
        monkeypatch.setattr("unskew.spark.local_session", lambda *_, **__: there)
        handler = signal.getsignal(signal.SIGINT)

        with local_spark(0):
            assert signal.getsignal(signal.SIGINT) is handler
        assert not there.stopped

    def test_much_data_gets_the_optimizing_compiler(self, spark):
        for size in (0, 10**12):
            with local_spark(size, cores=3, conf={"spark.x": 1}):
                pass

        assert [options["quick"] for options in spark.options] == [True, False]
        assert spark.options[0]["cores"] == 3
        assert spark.options[0]["conf"]["spark.x"] == 1

    def test_what_the_jvm_prints_is_not_seen(self, spark, capfd):
        spark.script = "echo noise; echo noise >&2"
        spark.meanwhile = lambda: spark.jvm.wait()  # noqa: PLW0108 - there is none yet

        with local_spark(0):
            print("heard")

        assert capfd.readouterr() == ("heard\n", "")


class TestInterrupt:
    def test_the_jvm_ends_first(self, spark):
        spark.script = "exec sleep 600"
        handler = signal.getsignal(signal.SIGINT)

        with pytest.raises(KeyboardInterrupt), local_spark(0):
            interrupt()

        assert spark.jvm.returncode == -signal.SIGTERM
        assert not spark.sessions[0].stopped, "a JVM that is to end is not asked for anything"
        assert signal.getsignal(signal.SIGINT) is handler

    def test_the_jvm_ends_though_it_was_just_starting(self, spark):
        spark.script, spark.meanwhile = "exec sleep 600", interrupt

        with pytest.raises(KeyboardInterrupt), local_spark(0):
            raise AssertionError("there is no session")

        assert spark.jvm.returncode == -signal.SIGTERM

    def test_a_jvm_that_does_not_end_is_killed(self, spark, monkeypatch, tmp_path):
        monkeypatch.setattr("unskew.spark.interrupt._GRACE_SECONDS", 0.1)
        deaf = tmp_path / "deaf"
        spark.script = f"trap '' TERM; touch {deaf}; exec sleep 600"
        spark.meanwhile = lambda: wait_for(deaf.exists, "a JVM that ignores the signal")

        with pytest.raises(KeyboardInterrupt), local_spark(0):
            interrupt()

        assert spark.jvm.wait() == -signal.SIGKILL

    @pytest.mark.parametrize("of_spark", [True, False])
    def test_what_spark_says_of_its_jobs_is_not_heard(self, spark, of_spark):
        spark.script = "exec sleep 600"

        def job():
            try:
                interrupt()
            finally:
                # As when PySpark asks for the result of a job that is gone.
                raise Py4JError("cancelled") if of_spark else ConnectionResetError

        with pytest.raises(KeyboardInterrupt), local_spark(0):
            job()

    def test_a_second_ctrl_c_changes_nothing(self, spark, tmp_path):
        ready = tmp_path / "ready"
        # Told to end, it presses Ctrl-C once more, and takes its time.
        spark.script = (
            f"trap 'kill -INT $PPID; sleep 0.1; exit 7' TERM; touch {ready}; "
            "while true; do sleep 0.01; done"
        )
        spark.meanwhile = lambda: wait_for(ready.exists, "the JVM")

        with pytest.raises(KeyboardInterrupt), local_spark(0):
            interrupt()

        assert spark.jvm.returncode == 7, "it was not waited for"

    def test_pyspark_starts_processes_as_before_afterwards(self, spark):
        before = java_gateway.Popen
        spark.script = "true"
        with local_spark(0):
            assert java_gateway.Popen is before

    def test_the_command_ends_with_130_and_says_nothing(self, run, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(sys.modules["unskew.cli.compare"], "_zipf", interrupted)

        status, _, error = run("compare", "--tuples", "10")

        assert (status, error) == (130, "")


JAVA_TRACE = """An error occurred while calling o141.getResult.
: org.apache.spark.SparkException: Job aborted due to stage failure
\tat org.apache.spark.Somewhere(Somewhere.scala:1)
Caused by: java.io.EOFException: Unexpected end of input stream
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: [CIRCULAR REFERENCE: org.apache.spark.SparkException: again]
"""


@pytest.mark.usefixtures("spark")
class TestOneLine:
    @pytest.mark.parametrize(
        ("error", "line"),
        [
            (Py4JError(JAVA_TRACE), "java.io.EOFException: Unexpected end of input stream"),
            (Py4JError("An error occurred while calling o1.x.\n: a.B: c\n\tat d"), "a.B: c"),
            (Py4JError("An error occurred while calling o1.x."), "An error occurred while calling"),
            (AnalysisException("[SOME_CONDITION] It is so.\n'Plan [x]"), "[SOME_CONDITION] It is"),
            (PySparkRuntimeError("\n"), "PySparkRuntimeError"),
        ],
        ids=["chain", "one", "none", "Spark's own", "empty"],
    )
    def test_what_goes_wrong_in_spark_is_one_line(self, error, line):
        with pytest.raises(UnskewError) as caught, local_spark(0):
            raise error

        assert str(caught.value).startswith(f"[SPARK_FAILED] {line}")
        assert "\n" not in str(caught.value)
        assert caught.value.__cause__ is error

    def test_a_jvm_that_does_not_start_says_why(self, spark):
        def fail():
            spark.jvm.wait()
            raise PySparkRuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited")

        spark.script = "echo Picked up something; echo Too small maximum heap >&2"
        spark.meanwhile = fail

        with pytest.raises(UnskewError, match="Too small maximum heap"), local_spark(0):
            pass

    @pytest.mark.parametrize(
        "error", [InvalidInputError("DATA", "is bad", "mend it"), OSError("x")]
    )
    def test_other_errors_are_left_as_they_are(self, error):
        with pytest.raises(type(error)) as caught, local_spark(0):
            raise error
        assert caught.value is error


class TestProgress:
    def test_nothing_is_shown_where_nobody_looks(self, monkeypatch):
        output = io.StringIO()
        monkeypatch.setattr(sys, "stderr", output)

        with progress("starting") as say:
            say("counting")

        assert output.getvalue() == ""

    def test_a_terminal_shows_what_is_done(self, monkeypatch, capsys):
        ours, theirs = pty.openpty()
        monkeypatch.setenv("TERM", "xterm")
        with os.fdopen(theirs, "w") as terminal:
            monkeypatch.setattr(sys, "stderr", terminal)
            with progress("starting Spark") as say:
                say("counting keys")
            monkeypatch.undo()
        shown = drained(ours)

        assert "starting Spark" in shown
        assert "counting keys" in shown
        assert capsys.readouterr().out == "", "it is not for standard output"


def drained(terminal):
    """Read what was written to a terminal that nobody has open any more."""
    shown = b""
    with os.fdopen(terminal, "rb", buffering=0) as opened, contextlib.suppress(OSError):
        while part := opened.read(1024):
            shown += part
    return shown.decode()
