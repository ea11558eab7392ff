import importlib
import itertools
import re

import pytest
from typer.testing import CliRunner

from unskew.cli import app
from unskew.errors import BrokenLawError, InvalidInputError, UnknownNameError
from unskew.spark.route import DEFAULT_GROUPING

FEW = ["--workers", "3", "--rows", "600", "--cost", "0"]


def run(*arguments):
    return CliRunner().invoke(app, ["demo", *FEW, *arguments])


@pytest.mark.usefixtures("spark")
def test_the_results_are_equal_and_shown_side_by_side(tmp_path):
    picture = tmp_path / "[demo].svg"

    done = run("--save", str(picture))

    assert done.exit_code == 0, done.output
    assert "The results are equal" in done.output
    rows = re.findall(r"^ +(Spark|unskew, [\w-]+) +([\d.]+) +([\d.]+)", done.output, re.MULTILINE)
    assert [name for name, *_ in rows] == ["Spark", "unskew, key", f"unskew, {DEFAULT_GROUPING}"]
    assert float(rows[2][1]) < 1.1 < float(rows[0][1]), "the busiest worker"
    assert float(rows[0][2]) == float(rows[1][2]) == 1.0 < float(rows[2][2]), "replicas"
    assert f"The picture is in {picture}.\n" in done.output
    assert picture.read_text().count('<g id="axes_') == 3


@pytest.mark.usefixtures("spark")
def test_a_synthetic_stream_does_as_well():
    done = run("--synthetic", "--grouping", "shuffle")

    assert done.exit_code == 0, done.output
    assert "synthetic drifting Zipf stream" in done.output
    assert "unskew, shuffle" in done.output


@pytest.mark.usefixtures("spark")
def test_unequal_results_are_an_error(monkeypatch):
    demo = importlib.import_module("unskew.cli.demo")
    timed = demo._timed
    lost = itertools.count()

    def less_each_time(frame):
        seconds, result = timed(frame)
        return seconds, result[next(lost) :]

    monkeypatch.setattr(demo, "_timed", less_each_time)

    assert isinstance(run().exception, BrokenLawError)


def test_bad_input_is_refused_before_spark_starts(tmp_path):
    assert isinstance(run("--grouping", "w-choice").exception, UnknownNameError)
    assert isinstance(run("--save", str(tmp_path / "demo.pdf")).exception, InvalidInputError)
