"""The command, run in this process as a shell would run it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from unskew.cli import main


class Ended(NamedTuple):
    """How a command has ended: its exit status, and what it wrote where."""

    status: int
    output: str
    error: str


def runner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Give a function that runs the command with these arguments, on a wide terminal."""

    def run(*arguments: object, columns: int = 200) -> Ended:
        monkeypatch.setattr(sys, "argv", ["unskew", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as ended:
            main()
        # A command that ends by itself gives no number.
        return Ended(ended.value.code or 0, *capsys.readouterr())

    return run
