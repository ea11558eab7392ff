import json
import math
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from unskew.cli.output import plain, print_json, require_plot
from unskew.errors import InvalidInputError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, (2.5, None)], "b": True}, {"a": [1, [2.5, None]], "b": True}),
        ([math.nan, math.inf, -math.inf], ["nan", "inf", "-inf"]),
        (np.float64(0.5), 0.5),
        (Decimal("1.50"), "1.50"),
        (date(2024, 2, 29), "2024-02-29"),
        (datetime(2024, 2, 29, 1, tzinfo=UTC), "2024-02-29 01:00:00+00:00"),
        (timedelta(hours=1), "1:00:00"),
        (b"\xff\x00", "ff00"),
        ({1: {None: "é\n"}}, {"1": {"None": "é\n"}}),
    ],
    ids=repr,
)
def test_json_is_what_any_parser_reads(capsys, value, expected):
    print_json(value)

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    assert json.loads(capsys.readouterr().out, parse_constant=refuse) == expected
    assert plain(value) == expected


@pytest.mark.parametrize("name", ["plot.png", "plot.svg", "PLOT.PNG"])
def test_a_plot_may_be_saved_in_a_folder(tmp_path, name):
    require_plot(None)
    require_plot(tmp_path / name)
    (tmp_path / name).touch()
    require_plot(tmp_path / name)


def test_a_plot_may_be_saved_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    require_plot(Path("plot.png"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("plot.pdf", "name a .png or .svg file"),
        ("plot", "name a .png or .svg file"),
        ("missing/plot.png", "missing must be a writable folder"),
        ("file/plot.png", "file must be a writable folder"),
        ("folder.png", "a folder; name a file"),
    ],
)
def test_a_plot_that_cannot_be_saved_is_refused(tmp_path, name, message):
    (tmp_path / "file").touch()
    (tmp_path / "folder.png").mkdir()

    with pytest.raises(InvalidInputError, match=message) as caught:
        require_plot(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


def test_without_matplotlib_the_error_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    with pytest.raises(InvalidInputError, match=r'pip install "unskew\[plots\]"'):
        require_plot(tmp_path / "plot.png")


def test_the_command_loads_no_more_than_it_needs():
    # Each costs a second, and matplotlib need not be installed.
    loaded = "{name.split('.')[0] for name in sys.modules}"
    code = f"import sys, unskew.cli; print({loaded} & {{'matplotlib', 'numba', 'pyspark'}})"

    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout

    assert shown == "set()\n"
