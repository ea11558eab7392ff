"""XXH64 and the way Spark's ``xxhash64`` chains it over typed columns.

XXH64: the xxHash specification (Collet). Columns: Spark's ``HashExpression``: the hash of one
column is the seed of the next, a null leaves the seed as it is. All hashes here are in [0, 2**64);
Spark shows them as signed (``to_signed``).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Any

MASK64 = 2**64 - 1
PRIME_1 = 0x9E3779B185EBCA87
PRIME_2 = 0xC2B2AE3D27D4EB4F
PRIME_3 = 0x165667B19E3779F9
PRIME_4 = 0x85EBCA77C2B2AE63
PRIME_5 = 0x27D4EB2F165667C5

TypedValue = tuple[str, Any]
"""(type tag, value); tags are Spark's names, as in ``DataFrame.dtypes``, values are physical:

boolean: bool · tinyint, smallint, int: int · date: days since 1970-01-01 · bigint: int ·
timestamp, timestamp_ntz: microseconds since 1970-01-01 · float, double: float ·
string: str or its UTF-8 bytes · binary: bytes · decimal(p,s): the unscaled int · any: None for null
"""


def hash_bytes(data: bytes, seed: int) -> int:
    """XXH64 of a byte string.

    >>> hex(hash_bytes(b"", 0))
    '0xef46db3751d8e999'
    >>> hex(hash_bytes(b"abc", 0))
    '0x44bc2cf5ad770999'
    """
    length = len(data)
    at = 0
    if length >= 32:
        lanes = [seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1]
        lanes = [lane & MASK64 for lane in lanes]
        while at + 32 <= length:
            for j in range(4):
                lanes[j] = _round(lanes[j], _word(data, at + 8 * j, 8))
            at += 32
        h = sum(_rotl(lane, r) for lane, r in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK64
        for lane in lanes:
            h = ((h ^ _round(0, lane)) * PRIME_1 + PRIME_4) & MASK64
    else:
        h = (seed + PRIME_5) & MASK64
    h = (h + length) & MASK64
    while at + 8 <= length:
        h ^= _round(0, _word(data, at, 8))
        h = (_rotl(h, 27) * PRIME_1 + PRIME_4) & MASK64
        at += 8
    if at + 4 <= length:
        h ^= _word(data, at, 4) * PRIME_1 & MASK64
        h = (_rotl(h, 23) * PRIME_2 + PRIME_3) & MASK64
        at += 4
    while at < length:
        h ^= data[at] * PRIME_5 & MASK64
        h = _rotl(h, 11) * PRIME_1 & MASK64
        at += 1
    h ^= h >> 33
    h = h * PRIME_2 & MASK64
    h ^= h >> 29
    h = h * PRIME_3 & MASK64
    h ^= h >> 32
    return h


def hash_int(value32: int, seed: int) -> int:
    """XXH64 of the 4 little-endian bytes of an int, signed or unsigned."""
    return hash_bytes((value32 & 0xFFFFFFFF).to_bytes(4, "little"), seed)


def hash_long(value64: int, seed: int) -> int:
    """XXH64 of the 8 little-endian bytes of a long, signed or unsigned."""
    return hash_bytes((value64 & MASK64).to_bytes(8, "little"), seed)


def hash_value(value: TypedValue, seed: int) -> int:
    """Hash one typed value, see ``TypedValue``, as Spark hashes a column of that type."""
    tag, x = value
    if x is None:
        return seed
    if tag in ("boolean", "tinyint", "smallint", "int", "date"):
        return hash_int(int(x), seed)
    if tag in ("bigint", "timestamp", "timestamp_ntz"):
        return hash_long(x, seed)
    if tag == "float":
        return hash_int(_float_bits(x), seed)
    if tag == "double":
        return hash_long(_double_bits(x), seed)
    if tag == "string":
        return hash_bytes(x.encode() if isinstance(x, str) else x, seed)
    if tag == "binary":
        return hash_bytes(x, seed)
    if tag.startswith("decimal("):
        precision = int(tag.removeprefix("decimal(").split(",")[0])
        return hash_long(x, seed) if precision <= 18 else hash_bytes(_minimal_big_endian(x), seed)
    raise ValueError(f"no type tag {tag!r}")


def hash_row(values: Iterable[TypedValue], seed: int = 42) -> int:
    """Hash the columns of a row in order; 42 is the seed of Spark's ``xxhash64``.

    >>> to_signed(hash_row([("string", "Spark"), ("int", 2)]))  # select xxhash64('Spark', 2)
    -3909679912936729532
    """
    h = seed
    for value in values:
        h = hash_value(value, h)
    return h


def to_signed(h: int) -> int:
    """The same 64 bits as the signed long that Spark shows."""
    return h - 2**64 if h >= 2**63 else h


def _round(lane: int, word: int) -> int:
    return _rotl((lane + word * PRIME_2) & MASK64, 31) * PRIME_1 & MASK64


def _rotl(x: int, r: int) -> int:
    return (x << r | x >> (64 - r)) & MASK64


def _word(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _float_bits(x: float) -> int:
    """The bits of a float; every NaN is the canonical one, -0.0 is 0."""
    if math.isnan(x):
        return 0x7FC00000
    return 0 if x == 0 else int.from_bytes(struct.pack("<f", x), "little")


def _double_bits(x: float) -> int:
    """The bits of a double; every NaN is the canonical one, -0.0 is 0."""
    if math.isnan(x):
        return 0x7FF8000000000000
    return 0 if x == 0 else int.from_bytes(struct.pack("<d", x), "little")


def _minimal_big_endian(x: int) -> bytes:
    """Java's ``BigInteger.toByteArray``: the fewest bytes that hold x in two's complement."""
    size = 1
    while not -(2 ** (8 * size - 1)) <= x < 2 ** (8 * size - 1):
        size += 1
    return x.to_bytes(size, "big", signed=True)
