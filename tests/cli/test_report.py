import json
import re
import shlex
import xml.etree.ElementTree as ET
from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.image import imread
from pyspark.sql.types import StringType, StructField, StructType

from unskew.spark.report import Skew

KEYS = ["hot", "warm", None]


def skew(keys=KEYS, loads=(10.0, 1.0, 1.0, 0.0), counts=(9, 1, 1), columns=1):
    """Make what is found in a frame of twelve rows: ``hot`` shares its partition with a row."""
    names = [f"_unskew_key_{at}" for at in range(columns)]
    return Skew(
        pa.table(dict.fromkeys(names, keys)),
        StructType([StructField(name, StringType()) for name in names]),
        np.array(counts, np.int64),
        np.arange(len(counts)),
        np.array(loads),
    )


def nothing():
    return skew(pa.array([], pa.string()), (0.0, 0.0), ())


@pytest.fixture
def report(run, monkeypatch, tmp_path):
    """Run the command on a CSV, as if Spark had found this."""

    def command(found, *options, keys=("key",), file="data.csv"):
        path = tmp_path / file
        path.write_text(",".join(keys) + "\nhot\n")
        measured = []
        monkeypatch.setattr(
            import_module("unskew.cli.report"),
            "_measured",
            lambda *given: measured.append(given) or found,
        )
        ended = run("report", path, *(f"--key={key}" for key in keys), *options)
        return ended, measured

    return command


def test_the_table_shows_what_was_found(report, tmp_path):
    (status, output, error), _ = report(skew())

    assert (status, error) == (0, "")
    assert f"{tmp_path / 'data.csv'}: 12 rows by key, on 4 partitions" in output
    rows = [line.split() for line in output.splitlines()]
    assert ["hot", "9", "75.00%", "0", "3.33"] in rows
    assert ["warm", "1", "8.33%", "1", "0.33"] in rows
    assert ["null", "1", "8.33%", "2", "0.33"] in rows
    assert "The fullest partition has 10 rows, 3.33 times the average of 3" in output
    assert "takes 3.33 times as long as it could" in output


def test_the_options_arrive(report):
    _, [(data, keys, workers, top)] = report(
        skew(columns=2), "--workers", "7", "--top", "3", keys=("a", "b")
    )

    assert (data.kind, keys, workers, top) == ("csv", ["a", "b"], 7, 3)


def test_even_partitions_need_nothing(report):
    (_, output, _), _ = report(skew(loads=(3.0, 3.0, 3.0, 3.0), counts=(3, 3, 3)))

    assert "even, nothing to do." in output
    assert "What to do" not in output


@pytest.mark.parametrize(
    ("file", "options", "keys"),
    [
        ("a b's.csv", [], ["key"]),
        ("a.csv", [], ["a key", "$key"]),
        ("data", ["--format", "csv"], ["key"]),
    ],
)
def test_what_it_says_to_do_can_be_done(report, run, monkeypatch, file, options, keys):
    (_, output, _), _ = report(skew(columns=len(keys)), *options, keys=keys, file=file)
    command = shlex.split(re.search(r"What to do: unskew (.*)", output)[1])

    class Reached(Exception):  # noqa: N818 - no error
        pass

    def reached(_, given_keys, options):
        raise Reached(given_keys, options["workers"])

    monkeypatch.setattr(import_module("unskew.cli.advise"), "_advised", reached)
    with pytest.raises(Reached) as arguments:
        run(*command)
    assert arguments.value.args == (keys, 4)


def test_text_that_was_split_is_to_be_split(run, monkeypatch, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("a b")
    monkeypatch.setattr(import_module("unskew.cli.report"), "_measured", lambda *_: skew())

    output = run("report", file, "--split").output

    assert f"unskew advise {file} --split --key word --workers 4" in output


def test_json_has_the_figures_and_nothing_else(report, tmp_path):
    (status, output, error), _ = report(skew(), "--json")

    assert (status, error) == (0, "")
    found = json.loads(output)
    hot_keys = found.pop("hot_keys")
    assert found == {
        "data": str(tmp_path / "data.csv"),
        "keys": ["key"],
        "rows": 12,
        "workers": 4,
        "max_load": 10,
        "average_load": 3.0,
        "slowdown": pytest.approx(10 / 3),
    }
    assert hot_keys[0] == {
        "key": {"key": "hot"},
        "count": 9,
        "share": 0.75,
        "partition": 0,
        "partition_load": pytest.approx(10 / 3),
    }
    assert [each["key"]["key"] for each in hot_keys] == KEYS


def test_data_without_rows_is_no_mistake(report, tmp_path):
    (status, output, _), _ = report(nothing())
    assert (status, len(output.splitlines())) == (0, 1)
    assert ": 0 rows by key" in output

    (status, output, _), _ = report(nothing(), "--json", "--save", tmp_path / "plot.png")
    found = json.loads(output)
    assert (status, found["hot_keys"], found["slowdown"]) == (0, [], 1.0)
    assert imread(tmp_path / "plot.png").std() > 0


# Letters that a font may lack, what matplotlib takes for formulas, what XML must not hold, and
# what rich takes for markup.
ODD = ["日本語 🙂", "$x_{$", "\0\x1b[31m\n<&>", "[red]x[/red]", "[/]", "", "é" * 500, None]


@pytest.mark.parametrize("suffix", ["png", "svg", "PNG"])
def test_a_plot_is_a_picture(report, tmp_path, suffix):
    keys = ["$x_{$", "_b_"]
    found = skew(ODD, np.arange(1.0, 300.0), [1] * len(ODD), columns=2)
    file = tmp_path / f"a plot.{suffix}"

    (status, _, error), _ = report(found, "--save", file, keys=keys)

    assert (status, error) == (0, "")
    if suffix == "svg":
        assert ET.parse(file).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    else:
        height, width, _ = imread(file, "png").shape
        assert (height, width) == (450, 800)
        assert imread(file, "png").std() > 0.05, "nothing is drawn"


def test_odd_keys_are_shown_as_they_are(report):
    output = report(skew(ODD, np.ones(8), [1] * len(ODD)))[0].output

    for shown in (
        "日本語 🙂",
        "$x_{$",
        r"'\x00\x1b[31m\n<&>'",
        "[red]x[/red]",
        "[/]",
        "''",
        "null",
    ):
        assert f" {shown} " in output
    assert "é" * 40 not in output, "one key pushes all else off the line"
