import json
import xml.etree.ElementTree as ET
from importlib import import_module

import pytest
from matplotlib.image import imread

import unskew
from unskew.control.advice import advise_on_sample
from unskew.hashing.keys import hash_keys
from unskew.spark.advise import Advised

HOT = ["hot"] * 900 + [f"key {at % 50}" for at in range(100)]
EVEN = [f"key {at % 1_000}" for at in range(4_000)]


def advised(keys, workers=4, rows=None):
    advice = advise_on_sample(hash_keys(keys), workers, rows=rows)
    return Advised(advice, workers, len(keys) if rows is None else rows, len(keys))


@pytest.fixture
def advise(run, monkeypatch, tmp_path):
    """Run the command on a CSV, as if Spark had found this."""

    def command(found, *options):
        path = tmp_path / "data.csv"
        path.write_text("key,cost\nhot,1\n")
        given = []
        monkeypatch.setattr(
            import_module("unskew.cli.advise"),
            "_advised",
            lambda *arguments: given.append(arguments) or found,
        )
        return run("advise", path, "--key", "key", *options), given

    return command


def test_a_hot_key_gets_advice(advise, tmp_path):
    found = advised(HOT)
    (status, output, error), _ = advise(found)

    assert (status, error) == (0, "")
    assert f"{tmp_path / 'data.csv'}: 1,000 rows, by key on 4 workers.\n" in output
    best = found.advice[0]
    assert f"Take '{best.grouping}'. The busiest worker gets" in output
    assert "It splits keys, so their partials must be merged." in output
    listed = {line.split()[0]: line.split() for line in output.splitlines() if line.strip()}
    for each in found.advice:
        figures = [each.imbalance, each.replication, each.estimated_time]
        assert listed[each.grouping][1:4] == [f"{figure:.2f}" for figure in figures]


def test_even_keys_get_the_advice_to_do_nothing(advise):
    output = advise(advised(EVEN))[0].output

    assert "Take 'key'. Nothing to do" in output
    assert "It splits keys" not in output


def test_a_sample_is_called_one(advise):
    output = advise(advised(HOT, rows=1_234_567))[0].output

    assert "1,230,000 rows, about, by key on 4 workers; judged by a sample of 1,000." in output


def test_the_options_arrive(advise):
    _, [(data, keys, options)] = advise(
        advised(HOT), "--workers", "7", "--weight", "cost", "--merge-cost", "0.5",
        "--sample", "1000", "--seed", "3",
    )  # fmt: skip

    assert (data.kind, keys, options.pop("costs").merge) == ("csv", ["key"], 0.5)
    assert options == {"workers": 7, "weight": "cost", "sample": 1000, "seed": 3}


def test_json_has_the_advice_and_nothing_else(advise, tmp_path):
    (status, output, error), _ = advise(advised(HOT), "--json")

    assert (status, error) == (0, "")
    found = json.loads(output)
    groupings = found.pop("groupings")
    assert found == {
        "data": str(tmp_path / "data.csv"),
        "keys": ["key"],
        "workers": 4,
        "rows": 1_000,
        "sampled": 1_000,
        "recommended": groupings[0]["grouping"],
    }
    assert sorted(each["grouping"] for each in groupings) == sorted(unskew.groupings())
    assert [each["recommended"] for each in groupings] == [True] + [False] * (len(groupings) - 1)


def test_data_without_rows_is_no_mistake(advise, tmp_path):
    (status, output, _), _ = advise(advised([]), "--save", tmp_path / "plot.png")

    assert status == 0
    assert "Take 'key'. Nothing to do: there is no work to spread." in output
    assert imread(tmp_path / "plot.png").std() > 0

    found = json.loads(advise(advised([]), "--json")[0].output)
    assert all(each["estimated_time"] is None for each in found["groupings"])


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_plot_is_a_picture(advise, tmp_path, suffix):
    file = tmp_path / f"plot.{suffix}"

    assert advise(advised(HOT), "--save", file)[0].status == 0

    if suffix == "svg":
        assert ET.parse(file).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    else:
        assert imread(file).shape[:2] == (450, 800)
        assert imread(file).std() > 0.05, "nothing is drawn"


def test_a_weight_that_there_is_not_is_refused_before_spark_starts(run, no_spark, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("key,cost\nhot,1\n")

    status, output, error = run("advise", path, "--key", "key", "--weight", "cots")

    assert (status, output) == (2, "")
    assert error == "[UNKNOWN_NAME] no column is called 'cots'; did you mean 'cost'?\n"
