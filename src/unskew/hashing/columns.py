"""Hash Arrow columns as Spark's ``xxhash64`` hashes columns of the same type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.hashing.arrays import as_readonly
from unskew.hashing.keys import Column
from unskew.hashing.xxhash64 import hash_bytes, hash_ints, hash_longs
from unskew.typing import AnyArray, KeyHashes

_SPARK_DECIMAL = pa.decimal128(38, 18)


def as_arrow(column: Column) -> pa.Array:
    """Return a column as one Arrow array, whatever it came as."""
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise InvalidInputError(
            "values", f"has {column.ndim} dimensions", "pass a 1-D array, or a tuple of columns"
        )
    if isinstance(column, str | bytes | Mapping) or not hasattr(column, "__getitem__"):
        raise InvalidTypeError(
            "values", f"a single {type(column).__name__}", "pass a list or an array of keys"
        )
    array = column if isinstance(column, pa.Array | pa.ChunkedArray) else _typed(column)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def _typed(column: AnyArray | Sequence[object]) -> pa.Array:
    """Find the type of Python or NumPy values as Spark does."""
    try:
        array = pa.array(column)
        # Arrow takes the digits that these values happen to have, and the hash depends on that.
        return array.cast(_SPARK_DECIMAL) if pa.types.is_decimal(array.type) else array
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError) as error:
        raise InvalidTypeError(
            "values", f"no column of one type ({error})", "pass an Arrow array of the type you mean"
        ) from error


def hash_column(array: pa.Array, seeds: KeyHashes) -> KeyHashes:
    """Hash one column; each row starts from its seed, and a null leaves the seed as it is."""
    if pa.types.is_null(array.type):
        return seeds
    hashes = _hasher(array.type)(array, seeds)
    if array.null_count == 0:
        return hashes
    return np.where(_numpy(pc.is_null(array)), seeds, hashes)


def _hasher(kind: pa.DataType) -> Callable[[pa.Array, KeyHashes], KeyHashes]:
    is_ = pa.types
    narrow = is_.is_integer(kind) and (kind.bit_width < 32 or is_.is_int32(kind))
    if narrow or is_.is_boolean(kind) or is_.is_date32(kind):
        return _hash_as_int
    if is_.is_integer(kind) or is_.is_timestamp(kind) or is_.is_duration(kind):
        return _hash_as_long
    if is_.is_floating(kind):
        return _hash_floats
    if is_.is_decimal128(kind):
        return _hash_decimals
    if is_.is_struct(kind):
        return _hash_structs
    if any(
        test(kind)
        for test in (
            is_.is_string, is_.is_large_string, is_.is_string_view,
            is_.is_binary, is_.is_large_binary, is_.is_binary_view, is_.is_fixed_size_binary,
        )
    ):  # fmt: skip
        return _hash_strings
    raise InvalidTypeError(
        "values",
        f"a column of {kind}",
        "use a type that Spark can group by and that is no list, or cast it to a string",
    )


def _hash_as_int(array: pa.Array, seeds: KeyHashes) -> KeyHashes:
    return hash_ints(_words(array, pa.int32()) & np.uint64(0xFFFFFFFF), seeds)


def _hash_as_long(array: pa.Array, seeds: KeyHashes) -> KeyHashes:
    words = _words(array, pa.int64())
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        words = _microseconds(words.view(np.int64), array.type.unit).view(np.uint64)
    return hash_longs(words, seeds)


def _microseconds(times: npt.NDArray[np.int64], unit: str) -> npt.NDArray[np.int64]:
    """Count in Spark's unit; nanoseconds belong to the microsecond they are in."""
    return times // 1000 if unit == "ns" else times * {"s": 1_000_000, "ms": 1000, "us": 1}[unit]


def _hash_floats(array: pa.Array, seeds: KeyHashes) -> KeyHashes:
    """Hash the bits; there is one zero and one NaN, as in Spark."""
    values = _numpy(array)
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    values = np.where(values == 0, values.dtype.type(0), values)
    values = np.where(np.isnan(values), values.dtype.type(np.nan), values)
    if values.dtype == np.float32:
        return hash_ints(values.view(np.uint32).astype(np.uint64), seeds)
    return hash_longs(values.view(np.uint64), seeds)


def _hash_decimals(array: pa.Array, seeds: KeyHashes) -> KeyHashes:
    """Up to 18 digits the unscaled value is a long, beyond that bytes, as few as hold it."""
    raw = np.frombuffer(array.buffers()[1], np.uint8).reshape(-1, 16)
    raw = raw[array.offset : array.offset + len(array)]
    if array.type.precision <= 18:
        return hash_longs(np.ascontiguousarray(raw[:, :8]).view(np.uint64)[:, 0], seeds)
    big_endian = raw[:, ::-1]
    sign = np.where(big_endian[:, :1] >= 128, 255, 0).astype(np.uint8)
    # A leading byte can go while it repeats the sign and the next one shows the same sign.
    spare = (big_endian[:, :-1] == sign) & ((big_endian[:, 1:] >= 128) == (sign == 255))
    lengths = 16 - np.logical_and.accumulate(spare, axis=1).sum(axis=1)
    kept = np.arange(16) >= (16 - lengths)[:, None]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return _hash_slices(big_endian[kept], offsets, seeds)


def _hash_structs(array: pa.Array, seeds: KeyHashes) -> KeyHashes:
    for position in range(array.type.num_fields):
        seeds = hash_column(array.field(position), seeds)
    return seeds


def _hash_strings(array: pa.Array, seeds: KeyHashes) -> KeyHashes:
    binary = pc.cast(array, pa.large_binary())
    _, offsets, data = binary.buffers()
    ends = np.frombuffer(offsets, np.int64)[binary.offset : binary.offset + len(binary) + 1]
    text = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return _hash_slices(text, ends if len(binary) else np.zeros(1, np.int64), seeds)


def _hash_slices(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], seeds: KeyHashes
) -> KeyHashes:
    hashes = np.empty(len(seeds), np.uint64)
    if len(seeds):
        ends = as_readonly(offsets.astype(np.int64))
        hash_bytes(as_readonly(data), ends, as_readonly(seeds), hashes)
    return hashes


def _words(array: pa.Array, kind: pa.DataType) -> KeyHashes:
    """Return whole numbers as words, two's complement; in place of a null stands anything."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    values = _numpy(array.view(kind) if array.type.bit_width == kind.bit_width else array)
    return values.astype(np.int64).view(np.uint64)


def _numpy(array: pa.Array) -> AnyArray:
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(0).cast(array.type))
    values: AnyArray = array.to_numpy(zero_copy_only=False)
    return values
