"""DATA on the command line: files and folders, checked before Spark starts, then read by it."""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unskew.cli.text import COMPRESSED, has_lines_in_quotes, is_readable, opened, separator_of
from unskew.errors import InvalidInputError, UnknownNameError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = {
    ".parquet": "parquet", ".pq": "parquet",
    ".csv": "csv",
    ".json": "json", ".jsonl": "json", ".ndjson": "json",
    ".txt": "text", ".text": "text", ".log": "text",
}  # fmt: skip

DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A file or a folder: Parquet, CSV with a header, JSON lines, or text.",
        show_default=False,
    ),
]
KeyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        help="A key column; more of them make one key. Text has one column, and needs no key.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="parquet, csv, json or text, where the names of the files do not tell.",
        show_default=False,
    ),
]
SplitOption = Annotated[
    bool, typer.Option("--split", help="Split lines of text into words: the column is `word`.")
]


@dataclass(frozen=True, slots=True)
class Data:
    """Files to be read.

    Attributes
    ----------
    path
        A file or a folder.
    kind
        The format, as Spark names it.
    columns
        The names of the columns; None where only reading the files tells.
    size
        Bytes of all files.
    split
        Whether lines of text are split into words.
    deep
        Whether folders in the folder are just folders, not columns as in day=1/part-0.parquet.
    told
        The format, if it was given.
    separator
        What separates the columns of CSV.
    """

    path: Path
    kind: str
    columns: tuple[str, ...] | None
    size: int
    split: bool = False
    deep: bool = False
    told: str | None = None
    separator: str = ","

    @property
    def arguments(self) -> list[str]:
        """What names this data on the command line."""
        format_option = [] if self.told is None else ["--format", self.told]
        return [str(self.path), *format_option, *(["--split"] if self.split else [])]

    def keys(self, given: Sequence[str] | None) -> list[str]:
        """Return the key columns asked for, or the only column there is; check the names."""
        if not given:
            if self.columns is None or len(self.columns) != 1:
                known = f": {', '.join(self.columns)}" if self.columns else ""
                raise InvalidInputError("--key", "is missing", f"name a column{known}")
            return list(self.columns)
        self.require(given)
        return list(given)

    def require(self, names: Sequence[str]) -> None:
        """Refuse names that are no columns, as far as can be told without Spark."""
        known = None if self.columns is None else {name.lower() for name in self.columns}
        for name in names:
            # A dot may lead to a field of a struct; quotes are for Spark to read.
            asked = {name.lower(), name.split(".", 1)[0].lower()}
            if known is not None and "`" not in name and not asked & known:
                raise UnknownNameError("column", name, self.columns or ())

    def read(self, spark: SparkSession) -> DataFrame:
        """Read the files; columns of CSV are strings."""
        reader = spark.read
        if self.kind == "csv":
            lines_in_quotes = any(map(has_lines_in_quotes, _files(self.path)))
            reader = reader.options(header=True, sep=self.separator, multiLine=lines_in_quotes)
        if self.deep:
            # Without it Spark passes over them, and says nothing.
            reader = reader.option("recursiveFileLookup", "true")
        # Without the scheme Spark may look on another file system, and `[` starts a pattern.
        path = "file://" + re.sub(r"([\[\]{}*?\\])", r"\\\1", str(self.path.resolve()))
        frame = reader.format(self.kind).load(path)
        if self.split:
            words = frame.selectExpr(r"explode(split(value, r'\s+')) as word")
            frame = words.where("word != ''")
        return frame


def find_data(path: Path, kind: str | None = None, *, split: bool = False) -> Data:
    """Find the files, their format and, where they tell it, their columns."""
    if kind is not None and kind not in FORMATS.values():
        raise UnknownNameError("format", kind, set(FORMATS.values()))
    try:
        return _found(_at_home(path), kind, split=split)
    except (OSError, EOFError) as error:
        raise InvalidInputError(
            "DATA", f"{path} cannot be read: {error}", "name one that can"
        ) from None


def _at_home(path: Path) -> Path:
    """Take ~ for the home folder where the shell has not, as in quotes."""
    if not path.exists():
        with contextlib.suppress(RuntimeError):  # of a user that there is not
            return path.expanduser()
    return path


def _found(path: Path, told: str | None, *, split: bool) -> Data:
    if not path.exists():
        raise InvalidInputError("DATA", f"{path} does not exist", "name a file or a folder")
    files = _files(path)
    if not files:
        raise InvalidInputError("DATA", f"{path} has no files in it", "name a folder with data")
    for file in files:
        _require_readable(path, file)
    kind = told or _kind(path, files)
    if split and kind != "text":
        raise InvalidInputError("--split", f"is given for {kind}", "only text is split into words")
    first = next((file for file in files if file.stat().st_size), None)
    if first is None:
        raise InvalidInputError("DATA", f"{path} is empty", "name a file with rows in it")
    header = _first_line(first) if kind == "csv" else None
    separator = "," if header is None else separator_of(header)
    columns = ("word",) if split else _columns(first, kind, separator)
    folders = {part for file in files for part in _folders(path, file)}
    deep = bool(folders) and not any("=" in folder for folder in folders)
    if columns is not None and not split:
        columns += tuple(part.split("=", 1)[0] for part in _folders(path, first) if "=" in part)
    size = sum(file.stat().st_size for file in files)
    return Data(path, kind, columns, size, split, deep, told, separator)


def _files(path: Path) -> list[Path]:
    """List the files that Spark would read: not the hidden ones, and none in hidden folders."""
    if path.is_file():
        return [path]
    found = (file for file in sorted(path.rglob("*")) if file.is_file())
    return [
        file for file in found if not any(_is_hidden(part) for part in file.relative_to(path).parts)
    ]


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _require_readable(path: Path, file: Path) -> None:
    """Refuse files that are fine, but that Spark cannot read or passes over by their name."""
    if _is_hidden(file.name):
        raise InvalidInputError(
            "DATA", f"{file} has a name that Spark hides", "rename it, without the first character"
        )
    if any(":" in part for part in (*_folders(path, file), file.name)):
        raise InvalidInputError(
            "DATA", f"{file} has a colon in its name", "rename it: Spark cannot read it"
        )


def _kind(path: Path, files: Sequence[Path]) -> str:
    kinds = {FORMATS.get(_suffix(file)) for file in files}
    if len(kinds) > 1:
        raise InvalidInputError("DATA", f"{path} has files of several formats", "add --format")
    kind = kinds.pop()
    if kind is None:
        raise InvalidInputError(
            "DATA", f"{path} is of no known format", f"add --format {'|'.join(_kinds())}"
        )
    return kind


def _kinds() -> list[str]:
    return list(dict.fromkeys(FORMATS.values()))


def _suffix(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    # Spark puts the name of the codec before the format: part-0.snappy.parquet
    return suffixes[-1] if suffixes else ""


def _folders(path: Path, file: Path) -> tuple[str, ...]:
    """Name the folders between DATA and a file of it."""
    return file.relative_to(path).parts[:-1] if path.is_dir() else ()


def _columns(file: Path, kind: str, separator: str) -> tuple[str, ...] | None:
    if kind == "text":
        return ("value",)
    if kind == "parquet":
        return _parquet_columns(file)
    line = _first_line(file)
    if line is None:
        return None
    if kind == "csv":
        return _as_spark_names(next(csv.reader([line], delimiter=separator)))
    try:
        row = json.loads(line)
    except json.JSONDecodeError:
        row = None
    if not isinstance(row, dict):
        raise _not(file, "JSON lines, one object a line")
    return None  # other lines may have other fields


def _as_spark_names(header: Sequence[str]) -> tuple[str, ...]:
    """Name columns as Spark does: those without a name, and those with the same."""
    times = Counter(name.lower() for name in header)
    return tuple(
        f"_c{at}" if not name else f"{name}{at}" if times[name.lower()] > 1 else name
        for at, name in enumerate(header)
    )


def _parquet_columns(file: Path) -> tuple[str, ...]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return tuple(pq.read_schema(file).names)
    except pa.ArrowException:
        raise _not(file, "a Parquet file") from None


def _first_line(file: Path) -> str | None:
    """Return the first line that says something; None if it is compressed in an unknown way."""
    if not is_readable(file):
        return None
    try:
        with opened(file) as lines:
            for line in lines:
                if text := line.decode("utf-8-sig").strip("\r\n"):
                    return text
    except UnicodeDecodeError:
        raise _not(file, "text in UTF-8") from None
    raise InvalidInputError("DATA", f"{file} is empty", "name a file with rows in it")


def _not(file: Path, expected: str) -> InvalidInputError:
    return InvalidInputError("DATA", f"{file} is not {expected}", "name the format with --format")
