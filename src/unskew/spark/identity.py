"""A hash that tells keys, or whole rows, apart, nulls included.

Spark's ``xxhash64`` passes over nulls: ("a", null) and (null, "a") have one hash, and so have null,
[] and [null]. That is good enough to route by. To tell keys apart, the hash here also takes in
where the nulls are and how long the arrays, so that only chance can make two keys one: once in
2**64 pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column


def identity_hash(keys: Sequence[Column], kinds: Sequence[DataType]) -> Column:
    """Hash values of these types, whatever they are."""
    parts = []
    for key, kind in zip(keys, kinds, strict=True):
        plain = _numbered(kind)
        parts += _parts(key if plain == kind else key.cast(plain), plain)
    return F.xxhash64(*parts)


def numbered(struct: StructType) -> StructType:
    """Return the type with all fields called c0, c1, ...: a frame may have a name twice."""
    kinds = enumerate(field.dataType for field in struct.fields)
    return StructType([StructField(f"c{at}", _numbered(kind)) for at, kind in kinds])


def _numbered(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        return numbered(kind)
    if isinstance(kind, MapType):
        return MapType(_numbered(kind.keyType), _numbered(kind.valueType))
    if isinstance(kind, ArrayType):
        return ArrayType(_numbered(kind.elementType))
    return kind


def _parts(value: Column, kind: DataType) -> list[Column]:
    """Take a value apart into what tells it from others."""
    if isinstance(kind, StructType):
        inner = [
            part
            for field in kind.fields
            for part in _parts(value.getField(field.name), field.dataType)
        ]
        return [value.isNull(), *inner]
    if isinstance(kind, MapType):
        pair = StructType([StructField("key", kind.keyType), StructField("value", kind.valueType)])
        return _parts(F.map_entries(value), ArrayType(pair))
    if isinstance(kind, ArrayType):
        element = kind.elementType
        return [F.size(value), F.transform(value, lambda each: F.struct(*_parts(each, element)))]
    return [value.isNull(), _hashable(value, kind)]


def _hashable(value: Column, kind: DataType) -> Column:
    """Give what cannot be hashed in a form that can, and text by its bytes."""
    name = kind.typeName()
    if name == "variant":
        return F.to_json(value)
    if name in ("geometry", "geography"):
        return F.st_asbinary(value)
    if isinstance(kind, StringType) and kind.collation != StringType().collation:
        return value.cast("binary")
    return value
