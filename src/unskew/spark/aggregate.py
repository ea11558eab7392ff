"""Aggregators on Spark: a partial for each key and worker, then one result for each key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.spark.frames import HELPER, require_collectable, resolve
from unskew.spark.partials import Steps, compute, consolidate
from unskew.window import Aggregator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HASH = f"{HELPER}hash"


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
    names = list(aggregator.inputs)
    # Under helper names: that of a field, s.x, is no name of a column.
    sent = {f"{HELPER}input{at}": name for at, name in enumerate(names)}
    columns = resolve(df, names, "input") if names else []
    inputs = [column.alias(name) for column, name in zip(columns, sent, strict=True)]
    rows = spread(inputs).select(*keys, *sent)
    key_fields = rows.select(*keys).schema.fields
    require_collectable([field.dataType for field in key_fields], list(keys.values()))

    given = rows.select(*sent).schema
    input_schema = to_arrow_schema(
        StructType(
            [StructField(sent[field.name], field.dataType, field.nullable) for field in given]
        )
    )
    partial = aggregator.partial_schema(input_schema)
    result = aggregator.result_schema(input_schema)
    _require_apart(result, list(keys.values()))

    steps = Steps(aggregator, len(keys), partial, result)
    partials = rows.mapInArrow(compute(steps), _spark_schema(key_fields, partial))
    together = partials.repartition(*keys).select(F.xxhash64(*keys).alias(_HASH), "*")
    results = together.sortWithinPartitions(_HASH).mapInArrow(
        consolidate(Steps(aggregator, 1 + len(keys), partial, result)),
        _spark_schema(key_fields, result),
    )
    return results.withColumnsRenamed(keys)


def _spark_schema(key_fields: list[StructField], schema: pa.Schema) -> StructType:
    return StructType([*key_fields, *from_arrow_schema(schema).fields])


def _require_apart(result: pa.Schema, keys: list[str]) -> None:
    """Refuse a result with the name of a key; upper case does not tell columns apart."""
    taken = {key.lower(): key for key in keys}
    for name in result.names:
        if key := taken.get(name.lower()):
            raise InvalidInputError(
                "aggregator",
                f"gives a column {name!r}, as the key {key!r} is called",
                f'rename the key, F.col("{key}").alias(...), or the column, Many(name=...)',
            )
