"""A snapshot: the state of a router as named arrays, and as bytes without pickle."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass

import numpy as np

from unskew.errors import SnapshotMismatchError
from unskew.typing import AnyArray

_FORMAT = "unskew-snapshot-1"
# What NumPy, zipfile and json raise on bytes that are not theirs.
_UNREADABLE = (
    ValueError, TypeError, KeyError, OSError, EOFError, RuntimeError, zipfile.BadZipFile
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """What a router needs to go on: whose it is, and its arrays."""

    scheme: str
    n_workers: int
    arrays: dict[str, AnyArray]

    def must_fit(self, scheme: str, n_workers: int) -> None:
        """Refuse to be resumed by another scheme or with another number of workers."""
        if self.scheme != scheme:
            raise SnapshotMismatchError("scheme", self.scheme, scheme)
        if self.n_workers != n_workers:
            raise SnapshotMismatchError("number of workers", self.n_workers, n_workers)

    def to_bytes(self) -> bytes:
        """Return the snapshot as bytes; equal snapshots give equal bytes."""
        head = json.dumps([_FORMAT, self.scheme, self.n_workers])
        buffer = io.BytesIO()
        np.savez(
            buffer,
            allow_pickle=False,
            **{name: self.arrays[name] for name in sorted(self.arrays)},
            __head__=np.frombuffer(head.encode(), np.uint8),
        )
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Snapshot:
        """Read what `to_bytes` wrote; damaged bytes are refused."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            written, scheme, n_workers = json.loads(arrays.pop("__head__").tobytes())
        except _UNREADABLE as error:
            raise SnapshotMismatchError("format", f"unreadable ({error})", _FORMAT) from error
        if written != _FORMAT:
            raise SnapshotMismatchError("format", written, _FORMAT)
        return cls(scheme, n_workers, arrays)
