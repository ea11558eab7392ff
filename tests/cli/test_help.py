import pytest
from typer.main import get_command

from unskew.cli import app

VERBS = list(get_command(app).commands)


def test_the_list_of_verbs_is_read_at_a_glance(run):
    status, shown, _ = run("--help", columns=80)

    lines = shown.splitlines()
    assert status == 0
    assert len(lines) <= 24, "else it does not fit on a terminal"
    assert "Example: unskew report orders.parquet --key customer" in shown
    for verb in VERBS:
        # One line each, with nothing cut.
        (line,) = [line for line in lines if line.startswith(f"│ {verb} ")]
        assert line.rstrip("│ ").endswith(".")


@pytest.mark.parametrize("verb", [None, *VERBS])
def test_help_fits_in_80_columns(run, verb):
    status, shown, error = run(*[verb] * (verb is not None), "--help", columns=80)

    assert (status, error) == (0, "")
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown, "something is cut"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_example(run, verb):
    shown = run(verb, "--help", columns=80).output

    (line,) = [line.strip() for line in shown.splitlines() if "Example:" in line]
    assert line.startswith(f"Example: unskew {verb}")


@pytest.mark.parametrize("verb", VERBS)
def test_the_example_names_options_that_there_are(verb):
    command = get_command(app).commands[verb]
    example = command.help.split(f"Example: unskew {verb}")[1].split()

    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    assert {word for word in example if word.startswith("--")} <= known


@pytest.mark.parametrize("verb", ["report", "advise"])
def test_what_is_missing_or_out_of_range_ends_with_2(run, verb):
    assert run(verb).status == 2
    assert run(verb, "data", "--workers", "0").status == 2
    assert run(verb, "data", "--no-such-option").status == 2
