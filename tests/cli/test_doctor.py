import json
import sys
from importlib import metadata
from pathlib import Path

import pytest

from unskew.errors import MissingJavaError
from unskew.spark.java import Java


@pytest.fixture
def well(monkeypatch, tmp_path):
    """A machine on which all is well. Its Java is not asked: that would start a JVM."""
    java = Java(tmp_path, 17, "17.0.1+1")
    monkeypatch.setattr("unskew.spark.java.find_java", lambda: java)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return monkeypatch


@pytest.fixture
def examine(run):
    """Examine without a job; gives the exit status, and what was found by what it is about."""

    def command():
        status, output, error = run("doctor", "--no-job", "--json")
        assert error == ""
        found = json.loads(output)
        assert found["well"] == (status == 0)
        return status, {each["what"]: each for each in found["findings"]}

    return command


def test_all_is_well(well, examine, run):
    status, found = examine()

    assert status == 0
    assert {each["verdict"] for each in found.values()} == {"fine"}
    assert found["Python"]["found"].endswith(sys.executable)
    assert found["pyspark"]["found"] == metadata.version("pyspark")
    assert {"Java", "PYSPARK_PYTHON", "SPARK_HOME", "pyarrow", "numba", "unskew[plots]"} <= {*found}
    assert run("doctor", "--no-job").output.endswith("All is well.\n")


def test_a_missing_java_is_broken(well, examine, run):
    def find():
        raise MissingJavaError("none is in JAVA_HOME or on PATH")

    well.setattr("unskew.spark.java.find_java", find)

    status, found = examine()

    assert status == 1
    assert found["Java"]["verdict"] == "broken"
    assert "Spark needs Java 17 or later" in found["Java"]["found"]
    assert found["Java"]["remedy"] == 'pip install "unskew[java]"'
    status, output, _ = run("doctor")
    assert status == 1, "a job is not tried where something is broken"
    assert output.endswith("Something is broken: see above.\n")


def test_a_java_that_spark_would_not_find_is_noted(well, examine, tmp_path):
    well.setattr(
        "unskew.spark.java.find_java", lambda: Java(tmp_path, 25, "25+1", tmp_path / "home")
    )

    status, found = examine()

    assert (status, found["Java"]["verdict"]) == (0, "note")
    assert found["Java"]["remedy"].endswith(f"export JAVA_HOME={tmp_path / 'home'}")


def test_another_interpreter_is_noted(well, examine):
    well.setenv("PYSPARK_PYTHON", "/usr/bin/python2")
    well.setenv("PYSPARK_DRIVER_PYTHON", "ipython")

    status, found = examine()

    assert status == 0
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        assert found[name]["verdict"] == "note"
        assert found[name]["remedy"].endswith(f"export {name}={sys.executable}")


def test_no_interpreter_is_noted(well, examine):
    well.delenv("PYSPARK_PYTHON")

    _, found = examine()

    assert found["PYSPARK_PYTHON"]["verdict"] == "note"
    assert "not set" in found["PYSPARK_PYTHON"]["found"]


def test_a_spark_home_without_spark_is_broken(well, examine, tmp_path):
    well.setenv("SPARK_HOME", str(tmp_path))
    status, found = examine()
    assert (status, found["SPARK_HOME"]["verdict"]) == (1, "broken")
    assert found["SPARK_HOME"]["remedy"] == "unset SPARK_HOME"

    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "spark-submit").touch()
    status, found = examine()
    assert (status, found["SPARK_HOME"]["verdict"]) == (0, "note")


def test_a_cache_that_cannot_be_written_is_noted(well, examine):
    well.setattr("unskew._kernel.cache_folder", lambda: Path("/no/such/folder"))

    status, found = examine()

    assert (status, found["kernel cache"]["verdict"]) == (0, "note")


@pytest.mark.parametrize(
    ("version", "found_is"), [(None, "not installed"), ("2.0.1", "2.0.1, not >=4.1")]
)
def test_a_package_that_is_missing_or_too_old_is_broken(well, examine, version, found_is):
    real = metadata.version

    def told(name):
        if name != "pyspark":
            return real(name)
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    well.setattr(metadata, "version", told)

    status, found = examine()

    assert status == 1
    assert found["pyspark"]["verdict"] == "broken"
    assert found["pyspark"]["found"] == found_is
    assert found["pyspark"]["remedy"] == 'pip install "pyspark>=4.1"'


def test_an_extra_that_is_missing_is_noted(well, examine):
    real = metadata.version

    def told(name):
        if name == "matplotlib":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    well.setattr(metadata, "version", told)

    status, found = examine()

    assert (status, found["unskew[plots]"]["verdict"]) == (0, "note")
    assert found["unskew[plots]"]["remedy"] == 'if needed: pip install "unskew[plots]"'


def test_a_job_that_fails_is_broken(well, run, monkeypatch):
    def start(*_, **__):
        raise RuntimeError("the machine is on fire")

    monkeypatch.setattr("unskew.spark.local_session", start)

    status, output, error = run("doctor", "--json")

    assert (status, error) == (1, "")
    (job,) = [each for each in json.loads(output)["findings"] if "job" in each["what"]]
    assert job["verdict"] == "broken"
    assert "the machine is on fire" in job["found"]
