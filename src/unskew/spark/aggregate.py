"""Aggregators on Spark: a partial for each key and worker, then one result for each key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.spark.frames import quoted, resolve
from unskew.window import Aggregator, group_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Partials are merged when there are twice as many as after the last time, and sent on when that
# does not make them fewer: a worker holds a bounded number, whatever the number of keys.
_MERGE_FROM = 1 << 16
_HOLD = 1 << 20


def aggregate(
    spread: Callable[..., DataFrame],
    df: DataFrame,
    keys: dict[str, str],
    aggregator: Aggregator,
) -> DataFrame:
    """Compute on the workers, merge by key, finish. ``keys`` maps helper columns to names."""
    if not isinstance(aggregator, Aggregator):
        raise InvalidTypeError(
            "aggregator", f"a {type(aggregator).__name__}", "pass an unskew.window.Aggregator"
        )
    inputs = resolve(df, aggregator.inputs, "input") if aggregator.inputs else []
    input_schema = to_arrow_schema(df.select(*inputs).schema)
    partial = aggregator.partial_schema(input_schema)
    result = aggregator.result_schema(input_schema)
    for name in result.names:
        if name in keys.values():
            raise InvalidInputError(
                "aggregator", f"gives a column {name!r}, as a key is called", "name one otherwise"
            )
    rows = spread(inputs).select(*keys, *map(quoted, input_schema.names))
    key_fields = rows.select(*keys).schema.fields
    partials = rows.mapInArrow(_compute(aggregator, len(keys)), _spark_schema(key_fields, partial))
    results = partials.repartition(*keys).mapInArrow(
        _consolidate(aggregator, len(keys), result), _spark_schema(key_fields, result)
    )
    return results.withColumnsRenamed(keys)


def _spark_schema(key_fields: list[StructField], schema: pa.Schema) -> StructType:
    return StructType([*key_fields, *from_arrow_schema(schema).fields])


class _Partials:
    """Partials of a task, with their keys in front, merged as they pile up."""

    def __init__(self, aggregator: Aggregator, keys: int) -> None:
        self._aggregator = aggregator
        self._keys = keys
        self._held: list[pa.RecordBatch] = []
        self._rows = 0
        self._merged = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in partials; merge them if there are many."""
        self._held.append(batch)
        self._rows += len(batch)
        if self._rows > max(_MERGE_FROM, 2 * self._merged):
            self._merge()

    @property
    def full(self) -> bool:
        """Whether merging no longer makes them few enough."""
        return self._merged > _HOLD

    def take(self) -> pa.RecordBatch | None:
        """Merge what is left, and give it away."""
        self._merge()
        held = self._held[0] if self._held else None
        self._held, self._rows, self._merged = [], 0, 0
        return held

    def _merge(self) -> None:
        if not self._held:
            return
        if len(self._held) > 1:
            together = pa.Table.from_batches(self._held).combine_chunks().to_batches()[0]
            step = self._aggregator.merge
            self._held = [keyed(step, together, self._keys, self._aggregator, "merge")]
        self._rows = self._merged = len(self._held[0])


def keyed(
    step: Callable[..., pa.RecordBatch],
    batch: pa.RecordBatch,
    keys: int,
    aggregator: Aggregator,
    name: str,
) -> pa.RecordBatch:
    """Run compute or merge over a batch whose first columns are keys; they come first again."""
    groups = group_rows(batch.columns[:keys])
    made = step(_without_keys(batch, keys), groups)
    if not isinstance(made, pa.RecordBatch) or len(made) != groups.size:
        raise InvalidInputError(
            "aggregator",
            f"{type(aggregator).__name__}.{name} gave "
            f"{f'{len(made)} rows' if hasattr(made, '__len__') else type(made).__name__}",
            f"return a record batch with a row for each of the {groups.size} groups",
        )
    chosen = batch.select(range(keys)).take(pa.array(groups.first))
    return _joined(chosen, made)


def _without_keys(batch: pa.RecordBatch, keys: int) -> pa.RecordBatch:
    return batch.select(range(keys, batch.num_columns))


def _joined(left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
    fields = [*left.schema, *right.schema]
    return pa.RecordBatch.from_arrays([*left.columns, *right.columns], schema=pa.schema(fields))


def _require_fit(aggregator: Aggregator, step: str, given: pa.Schema, promised: pa.Schema) -> None:
    """Refuse a step that gives other columns than its schema says."""
    # As Spark sees them: a string may be large or not.
    shown, expected = (from_arrow_schema(each).simpleString() for each in (given, promised))
    if shown != expected:
        raise InvalidInputError(
            "aggregator",
            f"{type(aggregator).__name__}.{step} gave {shown}",
            f"return what its schema says: {expected}",
        )


def _compute(
    aggregator: Aggregator, keys: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partials = _Partials(aggregator, keys)
        expected = None
        for batch in batches:
            if not len(batch):
                continue
            expected = expected or aggregator.partial_schema(_without_keys(batch, keys).schema)
            made = keyed(aggregator.compute, batch, keys, aggregator, "compute")
            _require_fit(aggregator, "compute", _without_keys(made, keys).schema, expected)
            partials.add(made)
            if partials.full:
                yield partials.take()
        if (rest := partials.take()) is not None:
            yield rest

    return compute


def _consolidate(
    aggregator: Aggregator, keys: int, promised: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def consolidate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partials = _Partials(aggregator, keys)
        for batch in batches:
            if len(batch):
                partials.add(batch)
        merged = partials.take()
        if merged is None:
            return
        # One batch may hold several partials of a key, and was not merged if it came alone.
        merged = keyed(aggregator.merge, merged, keys, aggregator, "merge")
        results = aggregator.finish(_without_keys(merged, keys))
        _require_fit(aggregator, "finish", results.schema, promised)
        if len(results) != len(merged):
            raise InvalidInputError(
                "aggregator",
                f"{type(aggregator).__name__}.finish gave {len(results)} rows",
                f"return one for each of the {len(merged)} partials",
            )
        yield _joined(merged.select(range(keys)), results)

    return consolidate
