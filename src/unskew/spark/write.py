"""Even files, few for each key: ``unskew.write_balanced(df, path, "country", files=64)``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pyarrow import fs
from pyspark.errors import PySparkException

from unskew.checks import check_whole
from unskew.errors import InvalidInputError, InvalidParameterError
from unskew.grouping.base import Grouping
from unskew.spark.frames import quoted, require_batch, require_groupable, resolve
from unskew.spark.repartition import repartition
from unskew.spark.route import DEFAULT_GROUPING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MODES = ("error", "errorifexists", "append", "overwrite", "ignore")


def write_balanced(
    df: DataFrame,
    path: str | os.PathLike[str],
    partition_by: str | Sequence[str],
    *,
    files: int,
    format: str = "parquet",  # noqa: A002 - as in Spark's own writer
    mode: str = "error",
    grouping: str | Grouping = DEFAULT_GROUPING,
    options: Mapping[str, str | int | bool] | None = None,
) -> None:
    """Write a frame partitioned by columns, in files of even size, with few files for each key.

    ``df.write.partitionBy(key)`` writes a file for each task and key, or, after
    ``repartition(key)``, all of a hot key through one task. Here ``files`` tasks write about the
    same number of rows each; a key that is hot to a router is in several files, another in one or
    two.

    Parameters
    ----------
    df
        A batch frame.
    path
        A folder, as Spark's writers take it. If writing fails and it was not there before, it is
        removed again, wherever this process can see it, unless there are files of data in it:
        they are another writer's.
    partition_by
        Columns of the frame, one folder for each value.
    files
        How many tasks write, and so about how many files there are of full size.
    format, mode, options
        As for ``df.write``.
    grouping
        How rows find their task.
    """
    require_batch(df, "write_balanced")
    names = [partition_by] if isinstance(partition_by, str) else list(partition_by)
    require_groupable(df, resolve(df, names, "partition_by column"))
    check_whole("files", files, 1, 2**20)
    if mode not in MODES:
        raise InvalidParameterError("mode", mode, f"one of {', '.join(MODES)}")
    if len(names) == len(df.columns):
        raise InvalidInputError(
            "partition_by", "has all columns of the frame", "leave one to write into the files"
        )
    path = os.fspath(path)
    existed = _exists(path)
    if existed and mode in ("error", "errorifexists"):
        raise InvalidInputError(
            "path", f"is {path!r}, which exists", "choose another, or mode='overwrite' or 'append'"
        )
    spread = repartition(df, files, *map(quoted, names), grouping=grouping)
    try:
        spread.write.format(format).mode(mode).options(**(options or {})).partitionBy(*names).save(
            path
        )
    except BaseException as error:
        if existed is False and not _came_later(error):
            _remove(path)
        raise


def _located(path: str) -> tuple[fs.FileSystem, str] | None:
    """Find the file system of a path; None where only Spark knows it."""
    try:
        return fs.FileSystem.from_uri(path) if ":" in path else (fs.LocalFileSystem(), path)
    except (ValueError, OSError):
        return None


def _exists(path: str) -> bool | None:
    located = _located(path)
    if located is None:
        return None
    system, inside = located
    found: bool = system.get_file_info(inside).type != fs.FileType.NotFound
    return found


def _came_later(error: BaseException) -> bool:
    """Whether another writer has made the folder meanwhile."""
    return isinstance(error, PySparkException) and error.getCondition() == "PATH_ALREADY_EXISTS"


def _remove(path: str) -> None:
    """Remove the folder, unless another writer has put something into it."""
    located = _located(path)
    if located is None or not _exists(path):
        return
    system, inside = located
    found = system.get_file_info(fs.FileSelector(inside, recursive=True))
    if not any(each.is_file and _is_anothers(each.path, inside) for each in found):
        system.delete_dir(inside)


def _is_anothers(file: str, folder: str) -> bool:
    # Spark moves files out of _temporary when all are written, and says so by _SUCCESS.
    parts = PurePosixPath(file).relative_to(PurePosixPath(folder)).parts
    return parts == ("_SUCCESS",) or not any(map(_is_hidden, parts))


def _is_hidden(name: str) -> bool:
    # As Spark has it: the folder of a value may begin with an underscore.
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
