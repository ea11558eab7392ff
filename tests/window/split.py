"""Run aggregators as an engine would: rows cut anywhere, partials merged in any tree."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from unskew.window import Groups, group_rows


def batch(**columns):
    """Make a batch in the middle of a longer one, so that offsets show."""
    arrays = {
        name: each if isinstance(each, pa.Array) else pa.array(each)
        for name, each in columns.items()
    }
    padded = {
        name: pa.concat_arrays([pa.nulls(3, each.type), each, pa.nulls(2, each.type)])
        for name, each in arrays.items()
    }
    rows = len(next(iter(arrays.values())))
    return pa.RecordBatch.from_arrays(list(padded.values()), names=list(padded)).slice(3, rows)


def one_group(rows):
    """All rows as one key, which none of them names."""
    return Groups(np.zeros(rows, np.int64), 1, np.zeros(1, np.int64))


def finish_one(aggregator, **columns):
    """The result of one key that has all rows, as a dict."""
    rows = batch(**columns)
    return aggregator.finish(aggregator.compute(rows, one_group(len(rows)))).to_pylist()[0]


def computed(aggregator, rows):
    """Partials of a batch, with their keys."""
    groups = group_rows([rows["key"]])
    partials = aggregator.compute(rows, groups)
    assert partials.num_rows == groups.size
    assert partials.schema == aggregator.partial_schema(rows.schema)
    return with_keys(rows["key"].take(pa.array(groups.first)), partials)


def merged(aggregator, parts, random):
    """Merge partials, in any order of them."""
    together = pa.concat_batches(parts)
    together = together.take(pa.array(random.permutation(len(together))))
    groups = group_rows([together["key"]])
    partials = aggregator.merge(together.drop_columns("key"), groups)
    assert partials.num_rows == groups.size
    assert partials.schema == together.drop_columns("key").schema
    return with_keys(together["key"].take(pa.array(groups.first)), partials)


def results(aggregator, rows, cuts=(), seed=0):
    """The result of each key, from rows that are cut and partials merged as the seed has it."""
    random = np.random.default_rng(seed)
    ends = sorted({0, len(rows), *(cut % (len(rows) + 1) for cut in cuts)})
    parts = [
        computed(aggregator, rows.slice(begin, end - begin))
        for begin, end in zip(ends, [*ends[1:], len(rows)], strict=True)
    ]
    while len(parts) > 1:
        random.shuffle(parts)
        some = int(random.integers(2, 5))
        parts = [merged(aggregator, parts[:some], random), *parts[some:]]
    found = aggregator.finish(parts[0].drop_columns("key"))
    assert found.num_rows == parts[0].num_rows
    assert found.schema == aggregator.result_schema(rows.schema)
    found.validate(full=True)
    return dict(zip(parts[0]["key"].to_pylist(), found.to_pylist(), strict=True))


def by_key(rows, column):
    """The values of a column by key, in plain Python."""
    values = {}
    for key, value in zip(rows["key"].to_pylist(), rows[column].to_pylist(), strict=True):
        values.setdefault(key, []).append(value)
    return values


def with_keys(keys, partials):
    arrays = [keys, *partials.columns]
    return pa.RecordBatch.from_arrays(arrays, names=["key", *partials.schema.names])
