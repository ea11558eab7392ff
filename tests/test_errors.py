import copy
import pickle

import pytest

from unskew import UnskewError
from unskew.errors import (
    BrokenLawError,
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    MissingJavaError,
    SnapshotMismatchError,
    UnknownNameError,
)

EXAMPLES = [
    (
        UnskewError("SOME_CONDITION", "something"),
        Exception,
        "[SOME_CONDITION] something",
    ),
    (
        InvalidParameterError("n_workers", 1, "at least 2"),
        ValueError,
        "[INVALID_PARAMETER] `n_workers` is 1; expected at least 2",
    ),
    (
        InvalidInputError("weights", "has 3 values for 2 tuples", "pass one for each tuple"),
        ValueError,
        "[INVALID_INPUT] `weights` has 3 values for 2 tuples; pass one for each tuple",
    ),
    (
        InvalidTypeError("hashes", "a list", "pass a 1-D NumPy array"),
        TypeError,
        "[INVALID_TYPE] `hashes` is a list; pass a 1-D NumPy array",
    ),
    (
        UnknownNameError("grouping", "pgk", ["key", "pkg"]),
        ValueError,
        "[UNKNOWN_NAME] no grouping is called 'pgk'; did you mean 'pkg'?",
    ),
    (
        SnapshotMismatchError("scheme", "pkg", "key"),
        ValueError,
        (
            "[SNAPSHOT_MISMATCH] the snapshot's scheme is 'pkg'; expected 'key'. "
            "Resume with the grouping that made it, or start without a snapshot"
        ),
    ),
    (
        BrokenLawError("conservation", "pkg", "worker 7 of 4"),
        AssertionError,
        "[BROKEN_LAW] 'pkg' breaks the law of conservation: worker 7 of 4",
    ),
    (
        MissingJavaError("no java on PATH"),
        RuntimeError,
        (
            "[MISSING_JAVA] Spark needs Java 17 or later; no java on PATH. "
            'Set JAVA_HOME, or run: pip install "unskew[java]"'
        ),
    ),
]

each_error = pytest.mark.parametrize(
    ("error", "builtin", "text"), EXAMPLES, ids=[type(error).__name__ for error, *_ in EXAMPLES]
)


@each_error
def test_it_says_its_condition_and_what_to_change(error, builtin, text):
    assert str(error) == text
    assert text.startswith(f"[{error.condition}] ")
    assert text.endswith(error.message)


@each_error
def test_it_is_caught_as_ours_and_as_the_builtin(error, builtin, text):
    assert isinstance(error, UnskewError)
    assert isinstance(error, builtin)


@each_error
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_it_survives_the_way_from_a_worker_to_the_driver(error, builtin, text, protocol):
    arrived = pickle.loads(pickle.dumps(error, protocol))

    assert type(arrived) is type(error)
    assert (arrived.condition, arrived.message) == (error.condition, error.message)
    assert str(arrived) == text
    assert arrived.args == error.args


@each_error
def test_a_copy_is_as_good(error, builtin, text):
    for copied in (copy.copy(error), copy.deepcopy(error)):
        assert type(copied) is type(error)
        assert str(copied) == text


def test_every_error_has_an_example_here():
    def below(cls):
        return {cls}.union(*map(below, cls.__subclasses__()))

    ours = {cls for cls in below(UnskewError) if cls.__module__ == "unskew.errors"}

    assert {type(error) for error, *_ in EXAMPLES} == ours


def test_a_condition_stands_for_one_error():
    conditions = [error.condition for error, *_ in EXAMPLES]

    assert len(set(conditions)) == len(conditions)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("w-choice", "did you mean 'w-choices' or 'd-choices'?"),
        ("kye", "did you mean 'key'?"),
        ("zzz", "expected one of 'd-choices', 'key', 'w-choices'"),
        ("", "expected one of 'd-choices', 'key', 'w-choices'"),
        (None, "expected one of 'd-choices', 'key', 'w-choices'"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_or_with_all(name, hint):
    error = UnknownNameError("grouping", name, ["w-choices", "key", "d-choices"])

    assert str(error) == f"[UNKNOWN_NAME] no grouping is called {name!r}; {hint}"


def test_the_known_names_may_be_read_once_only():
    error = UnknownNameError("grouping", "zzz", iter(["b", "a"]))

    assert "expected one of 'a', 'b'" in str(error)
