"""What the tests of the commands share: a shell, and no Spark, which they must not start."""

import pytest

from tests.commands import runner


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


@pytest.fixture
def no_spark(monkeypatch):
    """Let no session start, where all is known without."""

    def start(*_, **__):
        raise AssertionError("Spark was started")

    monkeypatch.setattr("unskew.spark.session.local_session", start)
    monkeypatch.setattr("unskew.spark.local_session", start)
