"""Functions of a user over the rows of one key: in parts, and merged.

Spark's own ``applyInPandas`` pays a millisecond for every group. Here a task reads its partition as
one stream, sorted by key hash and key, and cuts it where the key changes. So a group costs a slice,
a key of any size passes in parts, and nothing but the parts is held.

The frame comes with helper columns in front: the key hash and the keys. The hash goes along with
the partials, since pandas has one value for null and NaN, which are two keys.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.types import DataType, StructField, StructType

from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.spark.batches import Kind
from unskew.spark.frames import HELPER, quoted
from unskew.spark.identity import identity_hash

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HASH = f"{HELPER}hash"
_WHOLE = 2**62


@dataclass(frozen=True)
class Work:
    """What a user asks for: a function for parts, one that merges, and their schemas."""

    partial: Callable[..., Any]
    partial_schema: str | StructType
    merge: Callable[..., Any]
    schema: str | StructType
    max_rows: int


def apply_whole(
    spread: DataFrame,
    kind: Kind,
    keys: list[str],
    columns: list[str],
    function: Callable[..., Any],
    schema: str | StructType,
) -> DataFrame:
    """Hand each key over whole, as Spark does."""
    call = _caller(function, "partial")
    return _each_key(
        _hashed(spread, keys),
        kind,
        keys,
        columns,
        call,
        _parsed(schema),
        "partial",
        keep_keys=False,
    )


def apply_and_merge(
    spread: DataFrame, kind: Kind, keys: list[str], columns: list[str], work: Work
) -> DataFrame:
    """Hand each key over in parts of at most ``max_rows``, then all that came of it at once."""
    call, merge = _caller(work.partial, "partial"), _caller(work.merge, "merge")
    made, result = _parsed(work.partial_schema), _parsed(work.schema)
    partials = _each_key(
        _hashed(spread, keys),
        kind,
        keys,
        columns,
        call,
        made,
        "partial",
        keep_keys=True,
        max_rows=work.max_rows,
    )
    together = partials.repartition(quoted(HASH))
    return _each_key(
        together, kind, keys, made.fieldNames(), merge, result, "merge", keep_keys=False
    )


def _hashed(frame: DataFrame, keys: list[str]) -> DataFrame:
    kinds = [frame.schema[key].dataType for key in keys]
    return frame.withColumn(HASH, identity_hash([quoted(key) for key in keys], kinds))


def _each_key(
    frame: DataFrame,
    kind: Kind,
    keys: list[str],
    columns: list[str],
    call: Callable[[Callable[[], Any], Any], Any],
    schema: StructType,
    name: str,
    *,
    keep_keys: bool,
    max_rows: int = _WHOLE,
) -> DataFrame:
    """Call a function for the rows of each key in a partition, and put its results together."""
    front = [HASH, *keys]
    ordered = frame.sortWithinPartitions(*front)
    sent = ordered.select(*kind.columns(ordered.select(*map(quoted, [*front, *columns])).schema))
    fields = [StructField(key, frame.schema[key].dataType) for key in front] if keep_keys else []
    given = StructType([*fields, *schema.fields])
    # PySpark takes a dot in a name for a field: names go apart from the columns.
    names = sent.columns
    sent = sent.toDF(*(f"c{at}" for at in range(len(names))))

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        results = kind.results(front if keep_keys else [], schema, name)
        for part in _parts(kind.read(batches, names), kind, keys, columns, max_rows):
            key = functools.partial(kind.key, part.source, part.row, keys)
            made = call(key, kind.join(part.rows))
            for full in results.add(part.source, part.row, made):
                yield from kind.write(full)
        for rest in results.rest():
            yield from kind.write(rest)

    applied: DataFrame = getattr(sent, kind.method)(work, given)
    return applied


class _Part(NamedTuple):
    """Rows of one key, and a row that has the key."""

    source: Any
    row: int
    rows: list[Any]


def _parts(
    batches: Iterator[Any], kind: Kind, keys: list[str], columns: list[str], max_rows: int
) -> Iterator[_Part]:
    """Cut a stream that is sorted by key into the rows of each, at most ``max_rows`` at a time."""
    front = [HASH, *keys]
    held: _Part | None = None
    held_rows = 0
    for batch in batches:
        seen = kind.select(batch, columns)
        for start, end in itertools.pairwise(kind.edges(batch, HASH, keys)):
            if held and (start or not kind.same_key(held.source, held.row, batch, 0, front)):
                yield held
                held, held_rows = None, 0
            at = start
            while held_rows + end - at > max_rows:
                cut = at + max_rows - held_rows
                rows = [*(held.rows if held else []), kind.cut(seen, at, cut)]
                yield _Part(batch, start, rows)
                at, held, held_rows = cut, None, 0
            held = held or _Part(batch, start, [])
            held.rows.append(kind.cut(seen, at, end))
            held_rows += end - at
    if held:
        yield held


def _caller(function: Callable[..., Any], name: str) -> Callable[[Callable[[], Any], Any], Any]:
    """Call a user's function with the key or without, as it wants; say the key when it fails."""
    if not callable(function):
        raise InvalidTypeError(name, f"a {type(function).__name__}", "pass a function")
    arguments = _by_position(function)
    if arguments not in (1, 2):
        raise InvalidInputError(
            name, f"takes {arguments} arguments", "write it for (rows) or for (key, rows)"
        )

    def call(key: Callable[[], Any], rows: Any) -> Any:
        try:
            return function(rows) if arguments == 1 else function(key(), rows)
        except Exception as error:
            shown = tuple(map(_plain, key()))
            error.add_note(f"raised by `{name}` of unskew.group_by, for the key {shown}")
            raise

    return call


def _by_position(function: Callable[..., Any]) -> int:
    """Count the arguments that can be given by position, with a default or without, as Spark."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some builtins have no signature
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in kinds for parameter in parameters)


def _plain(value: Any) -> Any:
    """Give a value as Python shows it: 3, and neither np.int32(3) nor a scalar of Arrow."""
    if isinstance(value, pa.Scalar):
        try:
            return value.as_py()
        except UnicodeDecodeError:
            return f"{value.type} that is not UTF-8"
    return value.item() if isinstance(value, np.generic) else value


def _parsed(schema: str | StructType) -> StructType:
    parsed = DataType.fromDDL(schema) if isinstance(schema, str) else schema
    if not isinstance(parsed, StructType):
        raise InvalidInputError(
            "schema", f"is {schema!r}", 'name the columns and their types: "word string, n long"'
        )
    return parsed
