import bz2
import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.image import imread

import unskew
from tests.commands import runner
from tests.spark.processes import ended_afterwards, environment, wait_for

KEYS = ["hot"] * 30 + [None] * 5 + [f"key {at}" for at in range(10)]
TABLE = pa.table({"key": KEYS, "cost": range(len(KEYS))})
COUNTS = Counter(KEYS)


@pytest.fixture
def run(spark, monkeypatch, capsys):
    """Run the command on the session of the tests, which it finds and leaves as it is."""
    return runner(monkeypatch, capsys)


def as_csv():
    lines = [f"{row['key'] or ''},{row['cost']}" for row in TABLE.to_pylist()]
    return "\n".join(["key,cost", *lines, ""]).encode()


def as_json():
    return "".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()).encode()


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def write_parquet(path, table=TABLE):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


# What makes the data, how often it holds the table, and the options that it needs.
LAYOUTS = {
    "a Parquet file": (write_parquet, "data.parquet", 1, []),
    "a Parquet folder": (
        lambda at: [write_parquet(at / f"part-{n}.snappy.parquet") for n in range(2)],
        "data", 2, [],
    ),
    "a partitioned folder": (
        lambda at: [write_parquet(at / f"day={n}" / "part.parquet") for n in range(3)],
        "data", 3, [],
    ),
    "folders in folders": (
        lambda at: [write(at / f"{n}" / "deep" / "a.csv", as_csv()) for n in range(2)],
        "data", 2, [],
    ),
    "CSV": (lambda at: write(at, as_csv()), "data.csv", 1, []),
    "gzipped CSV": (lambda at: write(at, gzip.compress(as_csv())), "data.csv.gz", 1, []),
    "JSON lines": (lambda at: write(at, as_json()), "data.jsonl", 1, []),
    "bzipped JSON lines": (lambda at: write(at, bz2.compress(as_json())), "data.json.bz2", 1, []),
    "a file without a suffix": (lambda at: write(at, as_csv()), "data", 1, ["--format", "csv"]),
}  # fmt: skip


class TestReport:
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_every_format_is_read(self, run, tmp_path, layout):
        make, name, times, options = LAYOUTS[layout]
        make(tmp_path / name)

        status, output, error = run("report", tmp_path / name, "--key", "key", "--json", *options)

        assert (status, error) == (0, "")
        found = json.loads(output)
        assert found["rows"] == times * len(KEYS)
        counts = {each["key"]["key"]: each["count"] for each in found["hot_keys"]}
        assert counts == {key: times * count for key, count in COUNTS.items()}

    def test_a_column_may_be_in_the_names_of_folders(self, run, tmp_path):
        for day, rows in ((1, 5), (2, 20)):
            write_parquet(tmp_path / f"day={day}" / "a.parquet", TABLE.slice(0, rows))

        found = json.loads(run("report", tmp_path, "--key", "day", "--json").output)

        counts = [(each["key"], each["count"]) for each in found["hot_keys"]]
        assert counts == [({"day": 2}, 20), ({"day": 1}, 5)]

    @pytest.mark.parametrize(
        ("name", "pack"), [("a.txt", bytes), ("a.log.gz", gzip.compress), ("f/g/a.txt", bytes)]
    )
    def test_text_is_lines_or_words(self, run, tmp_path, name, pack):
        write(tmp_path / name, pack(b"to be  or\nnot\tto be\n\nbe\nbe\n"))
        data = tmp_path / Path(name).parts[0]

        lines = json.loads(run("report", data, "--json").output)
        words = json.loads(run("report", data, "--split", "--json").output)

        assert (lines["keys"], lines["rows"]) == (["value"], 5)
        assert lines["hot_keys"][0]["key"] == {"value": "be"}
        assert (words["keys"], words["rows"]) == (["word"], 8)
        counts = {each["key"]["word"]: each["count"] for each in words["hot_keys"]}
        assert counts == {"be": 4, "to": 2, "or": 1, "not": 1}

    def test_the_figures_are_those_of_the_library(self, run, spark, tmp_path):
        write_parquet(tmp_path / "a.parquet")
        expected = unskew.skew_report(
            spark.read.parquet(str(tmp_path)), "key", workers=7, top=2
        ).collect()

        options = ["--key", "key", "--workers", "7", "--top", "2", "--json"]
        found = json.loads(run("report", tmp_path, *options).output)

        assert [each["key"]["key"] for each in found["hot_keys"]] == [row.key for row in expected]
        for each, row in zip(found["hot_keys"], expected, strict=True):
            for name in ("count", "share", "partition", "partition_load"):
                assert each[name] == row[name]
            for name in ("rows", "max_load", "average_load", "slowdown"):
                assert found[name] == row[name]
        assert found["workers"] == 7

    @pytest.mark.parametrize(
        "name",
        ["[ab]", "{a,b}", "*", "~", '50% %20 a+b #c & it\'s "é日" \\ $HOME ? [1]'],
    )
    def test_a_path_may_have_any_name(self, run, tmp_path, name):
        write(tmp_path / name / f"{name}.csv", as_csv())
        # Others that a pattern would take, too.
        for other in ("a", "b"):
            write(tmp_path / other / f"{other}.csv", as_csv())
            write(tmp_path / name / f"{other}.csv", as_csv())

        for data, times in ((tmp_path / name, 3), (tmp_path / name / f"{name}.csv", 1)):
            found = json.loads(run("report", data, "--key", "key", "--json").output)
            assert found["rows"] == times * len(KEYS)
            assert found["data"] == str(data)

    def test_home_is_found(self, run, monkeypatch, tmp_path):
        monkeypatch.setenv("HOME", str(tmp_path))
        write(tmp_path / "a.csv", as_csv())

        assert json.loads(run("report", "~/a.csv", "--key", "key", "--json").output)["rows"] == 45

    def test_keys_of_every_kind_have_a_form_in_json(self, run, tmp_path):
        table = pa.table(
            {
                "moment": pa.array([1, 1, None], pa.timestamp("us", "UTC")),
                "money": pa.array([1, 1, 2], pa.decimal128(20, 2)),
                "raw": [b"\xff", b"\xff", b""],
                "real": [float("nan"), float("nan"), float("inf")],
                "nested": [{"a": [1]}] * 3,
                "text": pa.StringArray.from_buffers(
                    3, *pa.array([b"\xff", b"\xff", b"a"], pa.binary()).buffers()[1:]
                ),
            }
        )
        write_parquet(tmp_path / "a.parquet", table)
        expected = {
            "moment": "1970-01-01 00:00:00.000001+00:00",
            "money": "1.00",
            "raw": "ff",
            "real": "nan",
            "nested": {"a": [1]},
            "text": "\ufffd",
        }

        options = [f"--key={name}" for name in table.column_names]
        found = json.loads(run("report", tmp_path, *options, "--json").output)
        shown = run("report", tmp_path, *options).output

        hottest = found["hot_keys"][0]
        assert hottest["count"] == 2
        moment = hottest["key"].pop("moment")
        assert moment.startswith(expected.pop("moment")[:10])
        assert hottest["key"] == expected
        assert "\ufffd" in shown

    def test_rows_of_csv_are_what_was_meant(self, run, tmp_path):
        write(tmp_path / "a.csv", b'key;text\na;"two\nlines"\na;"say ""hi"""\nb;one\n')

        found = json.loads(run("report", tmp_path / "a.csv", "--key", "key", "--json").output)
        asked = run("report", tmp_path / "a.csv")

        counts = {each["key"]["key"]: each["count"] for each in found["hot_keys"]}
        assert counts == {"a": 2, "b": 1}
        assert "`--key` is missing; name a column: key, text" in asked.error

    @pytest.mark.parametrize("suffix", ["png", "svg"])
    def test_a_picture_is_saved(self, run, tmp_path, suffix):
        write(tmp_path / "a.csv", as_csv())
        for verb in ("report", "advise"):
            plot = tmp_path / f"{verb}.{suffix}"

            status, output, _ = run(verb, tmp_path / "a.csv", "--key", "key", "--save", plot)

            assert status == 0
            assert output
            if suffix == "svg":
                assert ET.parse(plot).getroot().tag.endswith("svg")
            else:
                assert imread(plot).std() > 0.05, "nothing is drawn"


class TestAdvise:
    def test_a_hot_key_gets_advice(self, run, tmp_path):
        write(tmp_path / "a.csv", as_csv())
        options = ["--key", "key", "--workers", "4", "--merge-cost", "0", "--json"]

        found = json.loads(run("advise", tmp_path / "a.csv", *options).output)

        assert (found["rows"], found["sampled"], found["workers"]) == (45, 45, 4)
        assert found["recommended"] == found["groupings"][0]["grouping"]
        assert found["groupings"][0]["splits_keys"]

    def test_a_weight_may_be_a_column_of_csv(self, run, tmp_path):
        rows = [f"{key},{1000 if key == 7 else 1}" for key in range(20)] * 20
        write(tmp_path / "a.csv", "\n".join(["key,cost", *rows]).encode())
        options = [tmp_path / "a.csv", "--key", "key", "--workers", "2", "--merge-cost", "0"]

        plain = json.loads(run("advise", *options, "--json").output)
        weighted = json.loads(run("advise", *options, "--weight", "cost", "--json").output)

        imbalance = [
            next(each["imbalance"] for each in found["groupings"] if each["grouping"] == "key")
            for found in (plain, weighted)
        ]
        assert imbalance[1] > 1.9 > imbalance[0]

    def test_rows_without_any_are_no_mistake(self, run, tmp_path):
        write(tmp_path / "a.csv", b"key,cost\n")
        for verb in ("report", "advise"):
            status, output, _ = run(verb, tmp_path / "a.csv", "--key", "key", "--json")

            assert (status, json.loads(output)["rows"]) == (0, 0)


class TestBadInput:
    @pytest.mark.parametrize(
        ("content", "options", "message"),
        [
            (as_json(), ["--key", "kye"], "no column is called 'kye'; did you mean 'key'?"),
            (b'{"a": {"b": 1}}', ["--key", "a.c"], "no field is called 'c'; expected one of 'b'"),
            (b'{"_unskew_a": 1}', ["--key", "_unskew_a"], "has the column '_unskew_a'; rename it"),
            (as_json(), ["--key", "key", "--workers", "99999999"], "expected at most 10000000"),
        ],
    )
    def test_what_only_spark_can_tell_is_one_line_too(
        self, run, tmp_path, content, options, message
    ):
        write(tmp_path / "a.json", content)
        for verb in ("report", "advise"):
            status, output, error = run(verb, tmp_path / "a.json", *options)

            assert (status, output) == (2, "")
            assert len(error.splitlines()) == 1
            assert message in error

    def test_a_damaged_file_is_one_line(self, run, tmp_path):
        whole = gzip.compress(os.urandom(200_000).hex().encode())
        write(tmp_path / "a.txt.gz", whole[:-1000])

        status, output, error = run("report", tmp_path)

        assert (status, output) == (2, "")
        assert error == "[SPARK_FAILED] java.io.EOFException: Unexpected end of input stream\n"


def test_the_doctor_runs_a_job(run):
    status, output, error = run("doctor", "--json")

    found = json.loads(output)
    assert (status, found["well"], error) == (0, True, "")
    (job,) = [each for each in found["findings"] if each["what"] == "a job on Spark"]
    assert job["found"] == "1,000 rows routed, none lost"


class TestProcess:
    """The command in a process of its own, with a JVM of its own."""

    @pytest.fixture
    def start(self, tmp_path):
        env = environment(tmp_path)
        # They tell when a job runs.
        events = tmp_path / "events"
        events.mkdir()
        write(
            tmp_path / "conf" / "spark-defaults.conf",
            f"spark.eventLog.enabled true\nspark.eventLog.dir {events}\n"
            "spark.eventLog.compress false\n".encode(),
        )
        env |= {"SPARK_CONF_DIR": str(tmp_path / "conf"), "COLUMNS": "80"}

        with contextlib.ExitStack() as running:

            def command(*arguments):
                process = subprocess.Popen(
                    [sys.executable, "-m", "unskew", *map(str, arguments)],
                    env=env,
                    cwd=tmp_path,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    stdin=subprocess.DEVNULL,
                    text=True,
                    start_new_session=True,
                )
                return running.enter_context(process)

            with ended_afterwards(tmp_path):
                yield command

    def test_standard_output_is_json_and_nothing_else(self, start, tmp_path):
        # Moments as pandas has them, which Spark does not read by itself.
        moments = pa.array(range(len(KEYS)), pa.timestamp("ns"))
        write_parquet(tmp_path / "a.parquet", TABLE.append_column("moment", moments))

        command = start("report", tmp_path / "a.parquet", "--key", "key", "--json")
        output, error = command.communicate(timeout=120)

        assert (command.returncode, error) == (0, "")
        assert json.loads(output)["rows"] == len(KEYS)
        wait_for(lambda: not tree(tmp_path), "the JVM to end")

    def test_ctrl_c_ends_a_job(self, start, tmp_path):
        # Gigabytes, in one piece that one task reads for minutes, of a small file.
        write(tmp_path / "a.txt.gz", gzip.compress(b"to be or not to be\n" * 500_000) * 1_000)
        command = start("report", tmp_path / "a.txt.gz", "--split")
        wait_for(lambda: job_started(tmp_path / "events"), "a job")

        self.interrupt(command, tmp_path)

        # Nothing of what Spark has written on the way is left.
        assert [file for file in (tmp_path / "local").rglob("*") if file.is_file()] == []

    def test_ctrl_c_ends_python_workers(self, start, tmp_path):
        # Each word waits for ten seconds.
        command = start("demo", "--synthetic", "--rows", "1000", "--cost", "10000000")

        def workers():
            # The daemon, and what it has forked.
            return [pid for pid in tree(tmp_path) if b"-m\0unskew.spark.daemon" in line_of(pid)]

        wait_for(lambda: len(workers()) > 1, "a Python worker")

        self.interrupt(command, tmp_path, "on local Spark")

    def test_ctrl_c_ends_a_jvm_that_is_just_starting(self, start, tmp_path):
        write(tmp_path / "a.csv", as_csv())
        command = start("report", tmp_path / "a.csv", "--key", "key")
        wait_for(lambda: any(is_gateway(pid) for pid in tree(tmp_path)), "the JVM")

        self.interrupt(command, tmp_path)

    def interrupt(self, command, folder, said=""):
        os.killpg(command.pid, signal.SIGINT)
        output, error = command.communicate(timeout=60)

        assert (command.returncode, error) == (130, "")
        assert said in output if said else not output
        wait_for(lambda: not tree(folder), "all its processes to end", 30)


def job_started(events):
    logs = [file for file in events.rglob("*") if file.is_file()]
    return any("SparkListenerJobStart" in file.read_text() for file in logs)


def tree(folder):
    """Find the processes that write to ``folder``, the Python workers among them."""
    # Spark gives its Python workers a folder within.
    mark = f"SPARK_LOCAL_DIRS={folder / 'local'}".encode()
    found = []
    for process in Path("/proc").iterdir():
        variables = read(process / "environ").split(b"\0") if process.name.isdigit() else []
        if any(each.startswith(mark) for each in variables):
            found.append(int(process.name))
    return found


def line_of(pid):
    return read(Path(f"/proc/{pid}/cmdline"))


def read(file):
    """Read what the system tells of a process; nothing if that has ended."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def is_gateway(pid):
    return b"java" in line_of(pid).split(b"\0")[0] and b"pyspark-shell" in line_of(pid)
