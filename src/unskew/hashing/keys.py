"""Key hashes: 64 bits for a key of any type, equal bit for bit to Spark's ``xxhash64``.

On Spark the JVM computes them and only the eight bytes reach Python. Elsewhere `hash_keys`
computes the same, so that a route made in the simulator and one made on Spark agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from unskew.checks import check_whole
from unskew.errors import InvalidInputError
from unskew.typing import AnyArray, KeyHashes

if TYPE_CHECKING:
    import pyarrow as pa

Column: TypeAlias = "AnyArray | pa.Array | pa.ChunkedArray | Sequence[object]"
SPARK_SEED = 42


def hash_keys(values: Column | tuple[Column, ...], seed: int = SPARK_SEED) -> KeyHashes:
    """Hash keys as Spark's ``xxhash64(key, ...)`` does.

    ``values`` is one column, or a tuple of columns of equal length for keys of several columns.
    Types are Spark's: a Python ``int`` or NumPy ``int64`` is a bigint, ``int32`` an int (which
    Spark hashes differently), ``str`` a string, ``datetime`` a timestamp of microseconds, a
    ``Decimal`` a decimal(38,18). An Arrow array has the type it says.

    >>> hash_keys(["Spark", None]).tolist()
    [14152276016018486711, 42]
    >>> hash_keys((np.array([1, 1]), ["a", "b"])).tolist()
    [9918859697708259526, 4647124895845870768]
    """
    # Routers get hashes and need no Arrow, whose threads must not start before a worker is forked.
    from unskew.hashing.columns import as_arrow, hash_column

    check_whole("seed", seed, 0, 2**64 - 1)
    columns = values if isinstance(values, tuple) else (values,)
    if not columns:
        raise InvalidInputError("values", "is an empty tuple", "pass at least one column")
    arrays = [as_arrow(column) for column in columns]
    rows = len(arrays[0])
    for position, array in enumerate(arrays):
        if len(array) != rows:
            raise InvalidInputError(
                "values",
                f"has {rows} rows in column 0 and {len(array)} in column {position}",
                "pass columns of equal length",
            )
    hashes = np.full(rows, seed, np.uint64)
    for array in arrays:
        hashes = hash_column(array, hashes)
    return hashes
