import contextlib
import re
import subprocess

import pytest

import unskew
from tests.spark.operations import OPERATIONS, UNLIKE, check_all
from tests.spark.processes import (
    ask,
    ended_afterwards,
    environment,
    jvm_flags,
    living,
    wait_for,
)
from unskew.grouping.base import Trait
from unskew.spark.session import LOOPBACK, settings

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextlib.contextmanager
def server(folder, env):
    """Serve Connect on a port of its choice, and give the address."""
    conf = {
        **settings(2, jvm_flags()),
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": 0,
        "spark.sql.warehouse.dir": folder / "warehouse",
    }
    options = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    submit = f"{env['SPARK_HOME']}/bin/spark-submit"
    log = folder / "log"
    with log.open("w") as sink:
        process = subprocess.Popen(
            [submit, "--master", "local[2]", *options, "--class", SERVER, "spark-internal"],
            env=env,
            cwd=folder,
            stdout=sink,
            stderr=sink,
        )

    def address():
        assert process.poll() is None, log.read_text()
        return re.search(r"Connect server started at: (\S+)", log.read_text())

    try:
        yield f"sc://{wait_for(address, 'the server')[1]}"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    """What the job says of a server, which is gone before the tests look at it."""
    folder = tmp_path_factory.mktemp("connect")
    env = environment(folder)
    with ended_afterwards(folder):
        with server(folder, env) as address:
            answer = ask("tests.spark.job_on_connect", address, env, folder)
        wait_for(lambda: not living(folder), "the server's workers to end")
    return answer | {"address": address}


def test_rows_are_those_that_spark_gives(answer):
    check_all(answer["differences"])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_of_no_rows_there_is_no_difference(answer, operation):
    assert answer["differences of nothing"][operation] == {each: [0, 0, 0] for each in UNLIKE}


def test_frames_are_those_of_connect(answer):
    assert answer["frame"] == "pyspark.sql.connect.dataframe"
    assert answer["address"].startswith(f"sc://{LOOPBACK}:")


def test_the_worker_of_a_row_is_its_partition(answer):
    elsewhere, rows, last_worker = 0, 500, 2
    assert answer["misplaced"] == {
        grouping: [elsewhere, rows, last_worker] for grouping in unskew.groupings()
    }


def test_a_groupby_on_worker_and_key_needs_no_second_shuffle(answer):
    assert answer["exchanges"] == 1


def test_spark_checks_repeated_tasks_where_order_matters(answer):
    traits = {name: unskew.grouping(name, 2).spec.traits for name in unskew.groupings()}
    assert answer["checksums"] == {
        name: [str(Trait.ORDER_DEPENDENT in each).lower()] * 2 for name, each in traits.items()
    }


def test_nothing_runs_before_an_action(answer):
    before, at_the_action = answer["runs"]
    assert before is None
    assert "computed" in at_the_action


def test_reports_advice_and_files_are_made(answer):
    found = answer["reported"]
    assert found["hottest"] == [0, 1500, 3000]
    assert found["recommended"][0] in set(unskew.groupings()) - {"key"}
    assert (len(found["recommended"]), found["advised"]) == (1, len(unskew.groupings()))
    assert found["written"] == 3000
    assert found["summed"] == sum(range(0, 3000, 2))
    assert found["distinct"] == pytest.approx(1500, rel=0.1)


def test_plans_are_read_and_leave_the_cache_alone(answer):
    found = answer["explained"]
    assert "does not weigh on one task" in found["told"][0]
    assert "collect_list keeps every value" in found["told"][1]
    assert found["cached"]


def test_bad_input_is_refused_as_on_classic(answer):
    expected = {
        "missing name": "no column is called 'ide'; did you mean 'id'?",
        "missing column": "no column is called 'ide'; did you mean 'id'?",
        "map": "`key pairs` is of type map<bigint,bigint>; a map cannot be a key",
        "collation": "`key text` is of type string collate UTF8_LCASE; equal keys",
        "helper": "`df` has the column '_unskew_mine'",
        "no partitions": "`n` is 0; expected at least 1",
        "stream": "`df` is a streaming DataFrame",
        "aggregate": "`key` is sum(id), an aggregate; compute it first",
        "generator": "`key` is explode(array(id)), a generator; compute it first",
        "columns": "`key` is *, several columns; name each",
    }
    assert answer["refusals"].keys() == expected.keys()
    for name, part in expected.items():
        assert part in answer["refusals"][name]
