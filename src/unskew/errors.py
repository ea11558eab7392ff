"""What can go wrong, said so that the reader knows what to change.

Every error carries a stable ``condition`` for programs and a sentence for people, subclasses the
builtin a caller would expect, and survives pickling, because it may be raised in a Spark worker
and shown on the driver.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UnskewError(Exception):
    """Base of all errors raised by ``unskew``."""

    def __init__(self, condition: str, message: str) -> None:
        self.condition = condition
        self.message = message
        super().__init__(condition, message)

    def __str__(self) -> str:
        return f"[{self.condition}] {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        # Subclasses take other arguments than the base; unpickling goes around __init__.
        return _restore, (type(self), self.condition, self.message)


def _restore(cls: type[UnskewError], condition: str, message: str) -> UnskewError:
    error = cls.__new__(cls)
    UnskewError.__init__(error, condition, message)
    return error


class InvalidParameterError(UnskewError, ValueError):
    """A configuration value outside its range.

    >>> raise InvalidParameterError("n_workers", 1, "at least 2")
    Traceback (most recent call last):
    ...
    unskew.errors.InvalidParameterError: [INVALID_PARAMETER] `n_workers` is 1; expected at least 2
    """

    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__("INVALID_PARAMETER", f"`{name}` is {value!r}; expected {expected}")


class InvalidInputError(UnskewError, ValueError):
    """Data that cannot be routed, counted or hashed as given."""

    def __init__(self, name: str, found: str, remedy: str) -> None:
        super().__init__("INVALID_INPUT", f"`{name}` {found}; {remedy}")


class InvalidTypeError(UnskewError, TypeError):
    """Data of a type that has no meaning here."""

    def __init__(self, name: str, found: str, remedy: str) -> None:
        super().__init__("INVALID_TYPE", f"`{name}` is {found}; {remedy}")


class UnknownNameError(UnskewError, ValueError):
    """A name that is not in a catalogue, with the nearest that are.

    >>> raise UnknownNameError("grouping", "pgk", ["key", "pkg"])
    Traceback (most recent call last):
    ...
    unskew.errors.UnknownNameError: [UNKNOWN_NAME] no grouping is called 'pgk'; did you mean 'pkg'?
    """

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        names = sorted(known)
        close = difflib.get_close_matches(str(name), names, n=2, cutoff=0.5)
        hint = (
            f"did you mean {' or '.join(map(repr, close))}?"
            if close
            else f"expected one of {', '.join(map(repr, names))}"
        )
        super().__init__("UNKNOWN_NAME", f"no {kind} is called {name!r}; {hint}")


class SnapshotMismatchError(UnskewError, ValueError):
    """A snapshot that belongs to another scheme, another size, or is damaged."""

    def __init__(self, what: str, found: object, expected: object) -> None:
        super().__init__(
            "SNAPSHOT_MISMATCH",
            f"the snapshot's {what} is {found!r}; expected {expected!r}. "
            "Resume with the grouping that made it, or start without a snapshot",
        )


class BrokenLawError(UnskewError, AssertionError):
    """A grouping that breaks the contract every grouping is held to."""

    def __init__(self, law: str, grouping: object, found: str) -> None:
        super().__init__("BROKEN_LAW", f"{grouping!r} breaks the law of {law}: {found}")


class MissingJavaError(UnskewError, RuntimeError):
    """No Java runtime that Spark can use."""

    def __init__(self, found: str) -> None:
        super().__init__(
            "MISSING_JAVA",
            f"Spark needs Java 17 or later; {found}. "
            'Set JAVA_HOME, or run: pip install "unskew[java]"',
        )
