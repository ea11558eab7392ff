"""Batches as users see them, pandas frames or Arrow tables, behind one interface."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import BooleanType, IntegralType, StructType

from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.spark.frames import HELPER, quoted
from unskew.typing import AnyArray

if TYPE_CHECKING:
    from pyspark.sql import Column

_NULL = f"{HELPER}null_"

# Results are handed to Spark when they are this many rows, or come from this many keys.
_ROWS = 10_000
_KEYS = 2_000


class Results(ABC):
    """Results of many keys, put together into batches worth sending."""

    def __init__(self, keys: list[str], schema: StructType, function: str) -> None:
        self._keys = keys
        self._names = schema.fieldNames()
        self._schema = schema
        self._function = function
        self._source: Any = None
        self._kinds: Any = None
        self._sources: list[int] = []
        self._parts: list[Any] = []
        self._rows = 0

    def add(self, source: Any, row: int, result: Any) -> Iterator[Any]:
        """Take a result and the place of its key; yields a batch when there is enough."""
        checked = self._checked(result)
        if not len(checked):
            return
        kinds = self._types(checked)
        if self._parts and (source is not self._source or kinds != self._kinds):
            yield from self.rest()
        self._source, self._kinds = source, kinds
        self._sources.append(row)
        self._parts.append(checked)
        self._rows += len(checked)
        if self._rows >= _ROWS or len(self._parts) >= _KEYS:
            yield from self.rest()

    def rest(self) -> Iterator[Any]:
        """Yield what is left."""
        if self._parts:
            rows = np.repeat(self._sources, [len(part) for part in self._parts])
            yield self._joined(rows)
        self._parts, self._sources, self._rows = [], [], 0

    def _require_names(self, found: Sequence[object]) -> None:
        missing = [name for name in self._names if name not in found]
        if missing:
            self._refuse(f"no column {missing[0]!r} but {', '.join(map(str, found))}")
        unknown = [name for name in found if name not in self._names]
        if unknown:
            self._refuse(f"a column {unknown[0]!r}, which the schema does not have")
        if len(found) > len(self._names):
            self._refuse(f"a column twice: {', '.join(map(str, found))}")

    def _refuse(self, given: str) -> None:
        raise InvalidInputError(
            self._function, f"gave {given}", f"return {', '.join(self._names)}, as the schema says"
        )

    @abstractmethod
    def _checked(self, result: Any) -> Any:
        """Return a result with the columns of the schema, or refuse it.

        As with Spark, one without any column is one without rows.
        """

    @abstractmethod
    def _types(self, result: Any) -> Any:
        """Return the types of the columns: results of other types must not be put together."""

    @abstractmethod
    def _joined(self, rows: AnyArray) -> Any:
        """Return all results, the keys that stand in ``rows`` of the source in front."""


class Kind(ABC):
    """How rows are handed over."""

    method: ClassVar[str]
    results: ClassVar[type[Results]]

    @abstractmethod
    def read(self, batches: Iterator[Any], names: list[str]) -> Iterator[Any]:
        """Take what Spark hands over, and give its columns their names."""

    def write(self, result: Any) -> Iterable[Any]:
        """Make what Spark takes back."""
        return (result,)

    def columns(self, schema: StructType) -> list[Column]:
        """Give the columns to send for those of a schema."""
        return [quoted(name) for name in schema.names]

    @abstractmethod
    def cut(self, batch: Any, start: int, end: int) -> Any:
        """Return some rows of what `select` gave."""

    @abstractmethod
    def join(self, parts: list[Any]) -> Any:
        """Put rows together, as the user is to see them."""

    @abstractmethod
    def select(self, batch: Any, names: list[str]) -> Any:
        """Return what rows are cut from, with these columns."""

    @abstractmethod
    def key(self, batch: Any, row: int, keys: list[str]) -> tuple[Any, ...]:
        """Return the key of a row."""

    @abstractmethod
    def column(self, batch: Any, name: str) -> AnyArray:
        """Return a column of whole numbers."""

    def same_key(self, left: Any, row: int, right: Any, other: int, keys: list[str]) -> bool:
        """Whether two rows have the same key."""
        pairs = zip(self.key(left, row, keys), self.key(right, other, keys), strict=True)
        return all(_equal(a, b) for a, b in pairs)

    def edges(self, batch: Any, hashes: str, keys: list[str]) -> list[int]:
        """Return where the key changes, from 0 to the number of rows."""
        values = self.column(batch, hashes)
        changes = np.flatnonzero(values[1:] != values[:-1]) + 1
        edges = [0, *changes.tolist(), len(values)] if len(values) else [0]
        return self._without_collisions(batch, edges, keys)

    def _without_collisions(self, batch: Any, edges: list[int], keys: list[str]) -> list[int]:
        """Tell keys of one hash apart. They are sorted, so the first and the last row show it."""
        exact = edges[:1]
        for start, end in itertools.pairwise(edges):
            if end - start > 1 and not self.same_key(batch, start, batch, end - 1, keys):
                exact += [
                    at
                    for at in range(start + 1, end)
                    if not self.same_key(batch, at - 1, batch, at, keys)
                ]
            exact.append(end)
        return exact


def _equal(a: Any, b: Any) -> bool:
    """Whether two values are one key: null equals null, and NaN equals NaN."""
    if isinstance(a, pa.Scalar):
        return _equal_in_arrow(a, b)
    if a is None or b is None:
        return a is b
    if isinstance(a, dict):
        return all(_equal(each, b[name]) for name, each in a.items())
    if isinstance(a, list | tuple | np.ndarray):
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b) or bool(a != a and b != b)  # NaN differs from itself


def _equal_in_arrow(a: pa.Scalar, b: pa.Scalar) -> bool:
    # Not in Python, which has no text that is not UTF-8, and few years.
    if a.equals(b):
        return True
    if not (a.is_valid and b.is_valid):
        return False
    if isinstance(a, pa.StructScalar):
        return all(_equal_in_arrow(a[at], b[at]) for at in range(len(a)))
    if isinstance(a, pa.ListScalar):
        return len(a) == len(b) and all(map(_equal_in_arrow, a.values, b.values))
    return pa.types.is_floating(a.type) and math.isnan(a.as_py()) and math.isnan(b.as_py())


class _PandasResults(Results):
    def _checked(self, result: Any) -> pd.DataFrame:
        if not isinstance(result, pd.DataFrame):
            raise InvalidTypeError(
                f"result of {self._function}", f"a {type(result).__name__}", "return a DataFrame"
            )
        columns = result.columns.tolist()
        if columns == self._names:
            return result
        if not columns:
            return result.head(0)
        if any(isinstance(name, str) for name in columns):
            self._require_names(columns)
            return result[self._names]
        if len(columns) != len(self._names):  # by position, as Spark has it
            self._refuse(f"{len(columns)} columns")
        return result.set_axis(self._names, axis=1)

    def _types(self, result: pd.DataFrame) -> Any:
        return result.dtypes.tolist()

    def _joined(self, rows: AnyArray) -> pd.DataFrame:
        joined = pd.concat(self._parts, ignore_index=True)
        if not self._keys:
            return joined
        keys = self._source[self._keys].iloc[rows].reset_index(drop=True)
        for key, nulls in _nulls(self._source, self._keys).items():
            # Not as floats: a whole number may have more digits than they hold.
            keys[key] = keys[key].astype(object).mask(nulls[rows], None)
        return pd.concat([keys, joined], axis=1)


class _Rows(NamedTuple):
    """Rows without nulls where whole numbers and flags have some, and where these were."""

    frame: pd.DataFrame
    nulls: dict[str, AnyArray]


class PandasKind(Kind):
    """Rows as pandas frames, converted by Spark.

    Spark's applyInPandas converts each group by itself: whole numbers are floats in a group that
    has a null among them, and whole in the others. Here many groups are converted at once, so
    nulls of such columns are sent apart, and put back into the groups that had them.
    """

    method = "mapInPandas"
    results = _PandasResults

    def columns(self, schema: StructType) -> list[Column]:
        """Give the columns to send, with a flag for nulls beside whole numbers and flags."""
        sent = []
        for field in schema.fields:
            column = quoted(field.name)
            if field.nullable and isinstance(field.dataType, IntegralType | BooleanType):
                nothing = F.lit(0).cast(field.dataType)
                sent.append(F.coalesce(column, nothing).alias(field.name))
                sent.append(column.isNull().alias(_NULL + field.name))
            else:
                sent.append(column)
        return sent

    def read(self, batches: Iterator[pd.DataFrame], names: list[str]) -> Iterator[pd.DataFrame]:
        """Take what Spark hands over, and give its columns their names."""
        for batch in batches:
            batch.columns = names
            yield batch

    def cut(self, batch: _Rows, start: int, end: int) -> pd.DataFrame:
        """Return some rows, nulls put back."""
        rows = batch.frame.iloc[start:end]
        for name, nulls in batch.nulls.items():
            here = nulls[start:end]
            if here.any():
                whole = rows[name]
                kind = object if whole.dtype == bool else np.float64
                rows = rows.assign(**{name: whole.astype(kind).mask(here, None)})
        return rows

    def join(self, parts: list[pd.DataFrame]) -> pd.DataFrame:
        """Put rows together, numbered from 0."""
        if len(parts) == 1:
            return parts[0].reset_index(drop=True)
        return pd.concat(parts, ignore_index=True)

    def select(self, batch: pd.DataFrame, names: list[str]) -> _Rows:
        """Return what rows are cut from, with these columns."""
        return _Rows(batch[names], _nulls(batch, names))

    def key(self, batch: pd.DataFrame, row: int, keys: list[str]) -> tuple[Any, ...]:
        """Return the key of a row."""
        return tuple(self._value(batch, row, key) for key in keys)

    def _value(self, batch: pd.DataFrame, row: int, key: str) -> Any:
        value = batch[key].array[row]
        if _NULL + key in batch and batch[_NULL + key].array[row]:
            return None if isinstance(value, bool | np.bool_) else np.float64("nan")
        return value

    def column(self, batch: pd.DataFrame, name: str) -> AnyArray:
        """Return a column of whole numbers."""
        values: AnyArray = batch[name].to_numpy()
        return values


def _nulls(batch: pd.DataFrame, names: list[str]) -> dict[str, AnyArray]:
    """Say where nulls were, for the columns that have had some."""
    flags = {name: batch[_NULL + name].to_numpy() for name in names if _NULL + name in batch}
    return {name: nulls for name, nulls in flags.items() if nulls.any()}


class _ArrowResults(Results):
    def __init__(self, keys: list[str], schema: StructType, function: str) -> None:
        super().__init__(keys, schema, function)
        self._promised = to_arrow_schema(schema, timezone="UTC")

    def _checked(self, result: Any) -> pa.Table:
        if not isinstance(result, pa.Table):
            raise InvalidTypeError(
                f"result of {self._function}",
                f"a {type(result).__name__}",
                "return a pyarrow.Table",
            )
        if not (result.num_columns or len(result)) or result.schema.equals(self._promised):
            return result
        self._require_names(result.column_names)
        columns = [self._cast(result[field.name], field) for field in self._promised]
        # Whether nulls may be in it is not for one result to say.
        return pa.table(columns, schema=self._promised)

    def _cast(self, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
        if column.type == field.type:
            return column
        # One type to Spark may be several to Arrow: text may be large, and an hour in any zone.
        expected = self._schema[field.name].dataType.simpleString()
        if _shown(column.type) != expected:
            self._refuse(f"{field.name!r} as {column.type}, not as {expected}")
        return column.cast(field.type)

    def _types(self, result: pa.Table) -> Any:
        return result.schema.types

    def _joined(self, rows: AnyArray) -> pa.Table:
        joined = pa.concat_tables(self._parts)
        if not self._keys:
            return joined
        keys = self._source.select(self._keys).take(pa.array(rows, pa.int64()))
        fields = [*keys.schema, *joined.schema]
        return pa.table([*keys.columns, *joined.columns], schema=pa.schema(fields))


def _shown(kind: pa.DataType) -> str:
    try:
        return from_arrow_type(kind).simpleString()
    except PySparkTypeError:  # Spark has no such type
        return str(kind)


class ArrowKind(Kind):
    """Rows as Arrow tables."""

    method = "mapInArrow"
    results = _ArrowResults

    def read(self, batches: Iterator[pa.RecordBatch], names: list[str]) -> Iterator[pa.Table]:
        """Take what Spark hands over, and give its columns their names."""
        return (pa.Table.from_batches([batch]).rename_columns(names) for batch in batches)

    def write(self, result: pa.Table) -> Iterable[pa.RecordBatch]:
        """Make what Spark takes back."""
        batches: list[pa.RecordBatch] = result.combine_chunks().to_batches()
        return batches

    def cut(self, batch: pa.Table, start: int, end: int) -> pa.Table:
        """Return some rows."""
        return batch.slice(start, end - start)

    def join(self, parts: list[pa.Table]) -> pa.Table:
        """Put rows together."""
        return parts[0] if len(parts) == 1 else pa.concat_tables(parts)

    def select(self, batch: pa.Table, names: list[str]) -> pa.Table:
        """Return some columns."""
        return batch.select(names)

    def key(self, batch: pa.Table, row: int, keys: list[str]) -> tuple[Any, ...]:
        """Return the key of a row."""
        return tuple(batch.column(key)[row] for key in keys)

    def column(self, batch: pa.Table, name: str) -> AnyArray:
        """Return a column of whole numbers."""
        values: AnyArray = batch.column(name).to_numpy()
        return values
