"""What a DataFrame must be before any work starts, and names for helper columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    StringType,
    StructType,
    YearMonthIntervalType,
)

from unskew.errors import InvalidInputError, InvalidTypeError, UnknownNameError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HELPER = "_unskew_"
WORKER = f"{HELPER}worker"
_MONTHS = "months have no length, and no form in Arrow: cast it to a string"
NOT_IN_ARROW = {CalendarIntervalType: _MONTHS, YearMonthIntervalType: _MONTHS}
# What is refused in a filter is no value of a row, and routing it means nothing.
_NO_VALUES = {
    "INVALID_WHERE_CONDITION": "an aggregate",
    "UNSUPPORTED_GROUPING_EXPRESSION": "an aggregate",
    "WINDOW_FUNCTION_NOT_ALLOWED": "a window function",
    "UNSUPPORTED_GENERATOR": "a generator",
    "INVALID_USAGE_OF_STAR": "several columns",
}


def quoted(name: str) -> Column:
    """Return a column by its name, whatever characters it has."""
    return F.col(f"`{name.replace('`', '``')}`")


def require_batch(df: DataFrame, call: str) -> None:
    """Refuse a streaming frame, and one whose columns have our names."""
    if not hasattr(df, "isStreaming"):
        raise InvalidTypeError("df", f"a {type(df).__name__}", "pass a DataFrame of Spark")
    if df.isStreaming:
        raise InvalidTypeError(
            "df", "a streaming DataFrame", f"{call} works on batch frames; read with spark.read"
        )
    require_no_helpers(df)


def require_no_helpers(df: DataFrame) -> None:
    """Refuse a frame that has columns named as ours."""
    # Spark would take a name in upper case for ours, and replace the column.
    taken = [name for name in df.columns if name.lower().startswith(HELPER)]
    if taken:
        raise InvalidInputError(
            "df", f"has the column {taken[0]!r}", f"rename it: names in {HELPER} are helper columns"
        )


def resolve(df: DataFrame, columns: Iterable[str | Column], what: str = "key") -> list[Column]:
    """Return columns of the frame, given by name or as expressions; an unknown one is refused."""
    resolved = []
    for column in columns:
        expression = _expression(df, column, what)
        try:
            # Named after what was given: a nested field keeps its own name.
            named = expression.alias(df.select(expression).columns[0])
            if isinstance(column, Column) or column not in df.columns:
                # Analysed, and not run; Connect knows the schema of a mere filter without asking.
                _ = df.where(named.isNotNull()).select(F.lit(1)).schema
        except AnalysisException as error:
            refused = _unknown(df, error) or _no_value(column, what, error)
            if refused is None:
                raise
            raise refused from None
        resolved.append(named)
    if not resolved:
        raise InvalidInputError(f"{what}s", "is empty", f"name at least one {what} column")
    return resolved


def _expression(df: DataFrame, column: Any, what: str) -> Column:
    if isinstance(column, Column):
        return column
    if not isinstance(column, str):
        raise InvalidTypeError(what, f"a {type(column).__name__}", "pass a name or a Column")
    # Upper case may not matter.
    if column.lower() in {name.lower() for name in df.columns}:
        return F.col(column) if _leads_to_field(df, column) else quoted(column)
    # Known without asking Spark, which logs a stack trace with its answer.
    if column.isidentifier():
        raise UnknownNameError("column", column, df.columns)
    return F.col(column)


def _leads_to_field(df: DataFrame, name: str) -> bool:
    """Say whether a dot in a name leads to a field; where nothing has fields, it is just a dot."""
    head = name.split(".", maxsplit=1)[0].lower()
    return any(
        field.name.lower() == head and field.dataType.typeName() in ("struct", "array", "map")
        for field in df.schema.fields
    )


def _unknown(df: DataFrame, error: Any) -> UnknownNameError | None:
    """Give the error for a name that Spark does not know; None if it complains of another thing."""
    condition, found = error.getCondition() or "", error.getMessageParameters() or {}
    if condition.startswith("UNRESOLVED_COLUMN"):
        name = found.get("objectName", str(error)).replace("`", "")
        return UnknownNameError("column", name, df.columns)
    if condition == "FIELD_NOT_FOUND":
        fields = re.findall("`(.*?)`", found["fields"])
        return UnknownNameError("field", found["fieldName"].strip("`"), fields)
    return None


def _no_value(column: str | Column, what: str, error: Any) -> InvalidInputError | None:
    """Give the error for what is not one value of a row; None if Spark complains of another."""
    condition = error.getCondition() or ""
    found = next((_NO_VALUES[name] for name in _NO_VALUES if condition.startswith(name)), None)
    if found is None:
        return None
    shown = str(column).removeprefix("Column<'").removesuffix("'>")
    remedy = (
        "name each"
        if found == "several columns"
        else "compute it first, in a frame of its own, and name the column that it gives"
    )
    return InvalidInputError(what, f"is {shown}, {found}", remedy)


def require_groupable(df: DataFrame, keys: Sequence[Column]) -> None:
    """Refuse keys that Spark can neither hash nor compare."""
    for field in df.select(*keys).schema.fields:
        if why := _unhashable(field.dataType):
            raise InvalidTypeError(
                f"key {field.name}", f"of type {field.dataType.simpleString()}", why
            )


def _unhashable(kind: DataType) -> str | None:
    name = kind.typeName()
    if name in ("map", "variant"):
        return f"a {name} cannot be a key; use one of its entries, or to_json of it"
    if name in ("geometry", "geography"):
        return f"a {name} cannot be a key; use st_asbinary of it"
    if isinstance(kind, StringType) and kind.collation != StringType().collation:
        # Spark hashes the bytes: "a" and "A" would be one key on two workers.
        return "equal keys would hash apart; use, say, collate(lower(key), 'UTF8_BINARY')"
    if isinstance(kind, ArrayType):
        return _unhashable(kind.elementType)
    if isinstance(kind, StructType):
        found = (_unhashable(field.dataType) for field in kind.fields)
        return next((why for why in found if why), None)
    return None


def require_collectable(
    kinds: Sequence[DataType], names: Sequence[str], refused: Mapping[type, str] = NOT_IN_ARROW
) -> None:
    """Refuse keys that Spark cannot hand to Python, or that are of other types than wanted."""
    for kind, name in zip(kinds, names, strict=True):
        for part in _parts(kind):
            why = next((refused[each] for each in refused if isinstance(part, each)), None)
            if why is not None:
                raise InvalidTypeError(f"key {name}", f"of type {kind.simpleString()}", why)


def _parts(kind: DataType) -> Iterator[DataType]:
    yield kind
    if isinstance(kind, ArrayType):
        yield from _parts(kind.elementType)
    if isinstance(kind, StructType):
        for field in kind.fields:
            yield from _parts(field.dataType)
