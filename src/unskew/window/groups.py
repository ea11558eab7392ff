"""Which rows of a batch belong together: keys of any type as dense numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.errors import InvalidInputError, InvalidTypeError

Codes: TypeAlias = npt.NDArray[np.int64]
"""Dense numbers from 0 on, one a row."""


class Groups(NamedTuple):
    """Rows by key: ``codes[i]`` in [0, size) is the group of row i."""

    codes: Codes
    size: int
    first: Codes
    """The first row of each group, from which its key can be read."""


def group_rows(keys: Sequence[pa.Array]) -> Groups:
    """Give each key of a batch a number, in the order in which keys appear.

    A key may have several columns, of any type without maps. Keys are equal as they are
    for Spark's ``groupBy``: null equals null, NaN equals NaN, and there is one zero.

    >>> group_rows([pa.array(["a", "b", "a"]), pa.array([1, None, 1])]).codes.tolist()
    [0, 1, 0]
    """
    if not keys:
        raise InvalidInputError("keys", "is empty", "name at least one key column")
    columns = [part for key in keys for part in plain_columns(_without_lists(key))]
    codes, size = _encode(columns[0])
    for column in columns[1:]:
        more, distinct = _encode(column)
        if size * distinct > np.iinfo(np.int64).max:
            codes, size = _encode(pa.array(codes))
        codes, size = codes * distinct + more, size * distinct
    if len(columns) > 1:
        codes, size = _encode(pa.array(codes))
    # Numbers are given in order of appearance: a group starts where the highest so far grows.
    first = np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1))
    return Groups(codes, size, first)


def _without_lists(column: pa.Array) -> pa.Array:
    """Return the column with bytes in place of lists: equal where these are."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_struct(kind):
        fields = [_without_lists(field) for field in column.flatten()]
        return pa.StructArray.from_arrays(fields, kind.names, mask=pc.is_null(column))
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return column
    codes = group_rows([column.flatten()]).codes  # eight bytes an element
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    ends = 8 * np.cumsum(lengths, dtype=np.int64)
    offsets = pa.py_buffer(np.concatenate([np.zeros(1, np.int64), ends]))
    there = pa.array(pc.is_valid(column).to_numpy(zero_copy_only=False)).buffers()[1]
    return pa.Array.from_buffers(
        pa.large_binary(), len(column), [there, offsets, pa.py_buffer(codes)]
    )


def plain_columns(column: pa.Array) -> list[pa.Array]:
    """Return columns that tell the same rows apart, and order them alike, without nested types."""
    kind = column.type
    if isinstance(column, pa.ChunkedArray):
        return plain_columns(column.combine_chunks())
    if isinstance(column, pa.DictionaryArray):
        return plain_columns(column.dictionary_decode())
    if pa.types.is_struct(kind):
        fields = [part for field in column.flatten() for part in plain_columns(field)]
        return [pc.is_null(column), *fields]
    if pa.types.is_float16(kind):
        return plain_columns(column.cast(pa.float32()))
    if pa.types.is_floating(kind):
        zero, nan = (pa.scalar(value, kind) for value in (0.0, float("nan")))
        column = pc.if_else(pc.equal(column, zero), zero, column)
        return [pc.if_else(pc.is_nan(column), nan, column)]
    if pa.types.is_nested(kind):
        raise InvalidTypeError(
            "keys", f"a column of {kind}", "use apply_in_arrow, or values without lists and maps"
        )
    return [column]


def _encode(column: pa.Array) -> tuple[Codes, int]:
    """Give each value of a column a number, in order of appearance; null is a value."""
    try:
        encoded = pc.dictionary_encode(column, null_encoding="encode")
    except pa.ArrowNotImplementedError:
        raise InvalidTypeError(
            "keys", f"a column of {column.type}", "cast it to a string or a number"
        ) from None
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, len(encoded.dictionary)
