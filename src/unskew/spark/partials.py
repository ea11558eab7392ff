"""Partials of an aggregator on a worker: made, merged as they pile up, finished.

A column of Arrow has at most 2 GiB of text, and a worker so much memory. So partials are put
together in bounded pieces, whatever the number and the size of keys, and never dropped: what
merging does not make smaller is sent on as it is, and merged after the shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from unskew.errors import InvalidInputError
from unskew.window import Aggregator, Groups, group_rows

# Partials are merged when there are twice as many as after the last time, and sent on when that
# does not make them fewer: of rows, and of bytes.
_MERGE_FROM, _HOLD = 1 << 16, 1 << 20
_MERGE_BYTES, _HOLD_BYTES = 1 << 26, 1 << 28
# No piece that is put to others is larger, so all of them together are far from 2 GiB.
_PIECE_BYTES = 1 << 26


@dataclass(frozen=True)
class Steps:
    """The steps of an aggregator over batches whose first columns are keys, and checked.

    Attributes
    ----------
    aggregator
        What is computed.
    keys
        How many columns are keys.
    partial
        What partials must be.
    result
        What results must be.
    """

    aggregator: Aggregator
    keys: int
    partial: pa.Schema
    result: pa.Schema

    def compute(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Make a partial of each key, from inputs by position."""
        return self._keyed(
            lambda rows, groups: self.aggregator.compute(
                rows.rename_columns(list(self.aggregator.inputs)), groups
            ),
            batch,
            "compute",
        )

    def merge(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Make one partial of all that a key has."""
        return self._keyed(self.aggregator.merge, batch, "merge")

    def finish(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Make a result of each partial."""
        made = self.aggregator.finish(batch.select(range(self.keys, batch.num_columns)))
        self._require_rows(made, len(batch), "finish", "partials")
        return _joined(batch.select(range(self.keys)), self._fitting(made, self.result, "finish"))

    def _keyed(
        self,
        step: Callable[[pa.RecordBatch, Groups], pa.RecordBatch],
        batch: pa.RecordBatch,
        name: str,
    ) -> pa.RecordBatch:
        groups = group_rows(batch.columns[: self.keys])
        made = step(batch.select(range(self.keys, batch.num_columns)), groups)
        self._require_rows(made, groups.size, name, "groups")
        chosen = batch.select(range(self.keys)).take(pa.array(groups.first))
        return _joined(chosen, self._fitting(made, self.partial, name))

    def _require_rows(self, made: object, rows: int, step: str, of: str) -> None:
        if not isinstance(made, pa.RecordBatch) or len(made) != rows:
            raise InvalidInputError(
                "aggregator",
                f"{type(self.aggregator).__name__}.{step} gave "
                f"{f'{len(made)} rows' if hasattr(made, '__len__') else type(made).__name__}",
                f"return a record batch with a row for each of the {rows} {of}",
            )

    def _fitting(self, made: pa.RecordBatch, promised: pa.Schema, step: str) -> pa.RecordBatch:
        """Refuse a step that gives other columns than its schema says."""
        if made.schema.equals(promised):
            return made
        # As Spark sees them: a string may be large or not.
        shown, expected = (
            from_arrow_schema(each).simpleString() for each in (made.schema, promised)
        )
        if shown != expected:
            raise InvalidInputError(
                "aggregator",
                f"{type(self.aggregator).__name__}.{step} gave {shown}",
                f"return what its schema says: {expected}",
            )
        return made.cast(promised)


class Partials:
    """Partials of a task, merged as they pile up."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._held: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        self._merged_rows = self._merged_bytes = 0

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take in partials, and give away those that merging no longer makes few enough."""
        for piece in pieces(batch):
            self._held.append(piece)
            self._rows += len(piece)
            self._bytes += piece.nbytes
            if self._rows > max(_MERGE_FROM, 2 * self._merged_rows) or self._bytes > max(
                _MERGE_BYTES, 2 * self._merged_bytes
            ):
                self._merge()
            if self._merged_rows > _HOLD or self._merged_bytes > _HOLD_BYTES:
                yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Merge what is left, and give it away."""
        self._merge()
        held, self._held = self._held, []
        self._rows = self._bytes = self._merged_rows = self._merged_bytes = 0
        yield from held

    def _merge(self) -> None:
        if len(self._held) > 1:
            self._held = [self._steps.merge(put_together(self._held))]
        self._rows = self._merged_rows = sum(map(len, self._held))
        self._bytes = self._merged_bytes = sum(each.nbytes for each in self._held)


def compute(steps: Steps) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Give the work before the shuffle: few partials of the rows of a task."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partials = Partials(steps)
        for batch in batches:
            if len(batch):
                yield from partials.add(steps.compute(batch))
        yield from partials.rest()

    return work


def consolidate(steps: Steps) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Give the work after the shuffle: one result for each key.

    Partials come in the order of the first column, a hash of their key. So all keys are complete
    but those with the last hash of a batch, and nothing else is held.
    """

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        last: pa.RecordBatch | None = None
        for batch in batches:
            for piece in pieces(batch):
                here = piece if last is None else put_together([last, piece])
                hashes = here.column(0).to_numpy()
                cut = int(np.searchsorted(hashes, hashes[-1]))
                if cut:
                    yield _result(steps, here.slice(0, cut))
                last = steps.merge(here.slice(cut))
        if last is not None:
            yield _result(steps, last)

    return work


def _result(steps: Steps, batch: pa.RecordBatch) -> pa.RecordBatch:
    found = steps.finish(steps.merge(batch))
    return found.select(range(1, found.num_columns))


def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch into pieces of bounded size, of one row at least."""
    if not len(batch):
        return
    if len(batch) == 1 or batch.nbytes <= _PIECE_BYTES:
        yield batch
        return
    half = len(batch) // 2
    yield from pieces(batch.slice(0, half))
    yield from pieces(batch.slice(half))


def put_together(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Make one batch of several; fail where a column would be too large, rather than cut it."""
    columns = zip(*(batch.columns for batch in batches), strict=True)
    try:
        together = [pa.concat_arrays(parts) for parts in columns]
    except pa.ArrowInvalid as error:
        raise InvalidInputError(
            "aggregator",
            f"has partials that are too large to be merged: {error}",
            "let a partial of a key have less than 1 GiB",
        ) from None
    return pa.RecordBatch.from_arrays(together, schema=batches[0].schema)


def _joined(left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
    fields = [*left.schema, *right.schema]
    return pa.RecordBatch.from_arrays([*left.columns, *right.columns], schema=pa.schema(fields))
