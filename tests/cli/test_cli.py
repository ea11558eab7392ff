import subprocess
import sys

import pytest
from typer.testing import CliRunner

import unskew
from unskew.cli import app, main


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command as a shell would; gives the exit status and both outputs."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["unskew", *arguments])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return command


def test_without_arguments_it_shows_its_help():
    shown = CliRunner().invoke(app, [])

    assert "demo" in shown.output
    assert "groupings" in shown.output


def test_it_tells_its_version(run):
    assert run("--version")[:2] == (0, f"unskew {unskew.__version__}\n")


def test_groupings_lists_the_catalogue(run):
    status, output, _ = run("groupings")

    listed = [line.split()[0] for line in output.splitlines() if line.strip()]
    assert status == 0
    assert set(unskew.groupings()) <= set(listed)


def test_the_comparison_compares_every_grouping(run):
    status, output, _ = run("compare", "--tuples", "20000")

    rows = {line.split()[0]: line.split() for line in output.splitlines() if line.strip()}
    assert status == 0
    assert "20,000 tuples of 10,000 keys" in output
    assert float(rows["key"][2]) > 5
    assert float(rows["w-choices"][2]) < 1.05
    assert "A job ends with its busiest worker: key gives it" in output


def test_the_comparison_takes_the_groupings_it_is_given(run):
    _, output, _ = run("compare", "pkg", "--tuples", "1000", "--workers", "3")

    assert "pkg" in output
    assert "w-choices" not in output


def test_the_comparison_works_with_more_sources_than_tuples(run):
    assert run("compare", "shuffle", "--tuples", "3", "--sources", "10")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pgk"], "no grouping is called 'pgk'; did you mean 'pkg'?"),
        (["--workers", "1"], "`n_workers` is 1; expected at least 2"),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(run, arguments, message):
    status, output, error = run("compare", *arguments)

    assert (status, output) == (2, "")
    assert len(error.splitlines()) == 1
    assert message in error


def test_the_installed_command_starts():
    shown = subprocess.run(
        [sys.executable, "-m", "unskew", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("unskew ")
