import datetime as dt
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import aggregators as naive
from tests.streams import streams
from tests.window.split import batch, by_key, finish_one, one_group, results
from unskew.errors import InvalidParameterError
from unskew.window import TopK, group_rows

PAIR = pa.struct([("a", pa.int64()), ("b", pa.string())])


def counters(top, rows):
    """The counters of one partial, in order."""
    return top.finish(top.compute(rows, one_group(len(rows))))["top"][0].as_py()


@given(streams(), st.integers(1, 8), st.lists(st.integers(0, 400), max_size=6), st.integers(0, 99))
def test_counts_are_bounded_from_both_sides_however_a_key_is_split(stream, capacity, cuts, seed):
    values = (stream.hashes % np.uint64(40)).astype(np.int64)
    rows = batch(key=(stream.hashes % np.uint64(3)).astype(np.int64), x=values)

    found = results(TopK("x", capacity, capacity), rows, cuts, seed)

    for key, own in by_key(rows, "x").items():
        true, held = Counter(own), found[key]["top"]
        assert len(held) == min(len(true), capacity)
        for each in held:
            assert each["count"] - each["error"] <= true[each["value"]] <= each["count"]
            assert each["error"] * capacity <= len(own)
        missed = true.keys() - {each["value"] for each in held}
        assert all(true[value] * capacity <= len(own) for value in missed)
        assert sum(each["count"] for each in held) <= len(own)


@given(streams(), st.integers(1, 8), st.lists(st.integers(0, 400), min_size=1, max_size=4))
def test_a_merge_gives_the_counters_of_its_twin(stream, capacity, cuts):
    values = (stream.hashes % np.uint64(20)).astype(np.int64)
    parts = np.split(values, sorted(min(cut, len(values)) for cut in cuts))
    top = TopK("x", capacity, capacity)

    partials = pa.concat_batches(
        [top.compute(batch(x=part), one_group(len(part))) for part in parts]
    )
    found = top.finish(top.merge(partials, one_group(len(parts))))

    twins = [naive.Summary.of(capacity, part.tolist()) for part in parts]
    assert found["top"][0].as_py() == naive.Summary.merged(capacity, twins).top(capacity)


def test_the_heaviest_come_first_and_among_equals_the_least():
    rows = batch(x=["d", "b", "c", "b", "a", "c"])

    assert [each["value"] for each in counters(TopK("x", 3), rows)] == ["b", "c", "a"]
    assert [each["value"] for each in counters(TopK("x", 3, capacity=3), rows)] == ["b", "c", "a"]


def test_the_order_of_rows_does_not_matter():
    random = np.random.default_rng(2)
    values = random.integers(0, 100, 500)
    top = TopK("x", 20, capacity=20)

    assert counters(top, batch(x=values)) == counters(top, batch(x=random.permutation(values)))


def test_a_full_summary_that_accounts_for_all_its_values_missed_none():
    top = TopK("x", 2, capacity=2)
    full, other = batch(x=["u", "u", "v"]), batch(x=["w"] * 5)
    partials = pa.concat_batches(
        [top.compute(full, one_group(3)), top.compute(other, one_group(5))]
    )

    assert top.finish(top.merge(partials, one_group(2)))["top"][0].as_py() == [
        {"value": "w", "count": 5, "error": 0},
        {"value": "u", "count": 2, "error": 0},
    ]


def test_a_summary_that_dropped_values_may_have_missed_its_least_counter():
    top = TopK("x", 1, capacity=1)
    cut, other = batch(x=["u", "u", "v"]), batch(x=["w"] * 5)
    partials = pa.concat_batches([top.compute(cut, one_group(3)), top.compute(other, one_group(5))])

    # One of the three values of the first is not accounted for, so `w` may have been there once.
    assert top.finish(top.merge(partials, one_group(2)))["top"][0].as_py() == [
        {"value": "w", "count": 6, "error": 1}
    ]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.bool_(), [True, False]),
        (pa.uint8(), [3, 2]),
        (pa.float32(), [2.5, -1.0]),
        (pa.string(), ["b", "ä"]),
        (pa.large_string(), ["b", "a"]),
        (pa.binary(), [b"b", b"a"]),
        (pa.decimal128(5, 1), [Decimal("2.5"), Decimal("1.5")]),
        (pa.date32(), [dt.date(2020, 1, 2), dt.date(2020, 1, 1)]),
        (pa.timestamp("us", "UTC"), [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 2),
        (pa.duration("us"), [dt.timedelta(2), dt.timedelta(1)]),
        (PAIR, [{"a": 1, "b": None}, {"a": 0, "b": "x"}]),
    ],
)
def test_values_of_any_type_that_can_be_told_apart_are_counted(kind, values):
    often, seldom = values
    rows = batch(key=["a"] * 4, x=pa.array([seldom, often, None, often], kind))

    found = results(TopK("x", 1), rows, cuts=[2])["a"]["top"]

    assert found == [{"value": often, "count": 3 if often == seldom else 2, "error": 0}]


def test_there_is_one_nan_which_comes_last_and_one_zero():
    nan = float("nan")
    rows = batch(x=pa.array([nan, 0.0, -0.0, -nan, 1.0, 1.0]))

    found = counters(TopK("x", 3), rows)

    assert [each["count"] for each in found] == [2, 2, 2]
    assert str([each["value"] for each in found]) == "[0.0, 1.0, nan]"
    assert str(counters(TopK("x", 1), batch(x=[-0.0]))[0]["value"]) == "0.0"


def test_many_keys_with_few_and_with_many_values_side_by_side():
    random = np.random.default_rng(7)
    keys = random.integers(0, 70_000, 100_000)  # more keys than 16 bits number
    values = np.where(keys < 5, random.integers(0, 1_000, 100_000), 1)
    keys = np.concatenate([keys, np.repeat(np.arange(5), 300)])
    values = np.concatenate([values, np.tile(np.arange(300), 5)])
    rows = batch(key=keys, x=values)
    top = TopK("x", 3, capacity=4)
    groups = group_rows([rows["key"]])

    found = top.finish(top.compute(rows, groups))["top"].to_pylist()

    own = by_key(rows, "x")
    for key in [*range(20), *random.integers(20, 70_000, 50).tolist()]:
        if key in own:
            place = groups.codes[own_row(rows, key)]
            assert found[place] == naive.Summary.of(4, own[key]).top(3)


def own_row(rows, key):
    return int(np.flatnonzero(rows["key"].to_numpy() == key)[0])


def test_the_default_capacity_grows_with_k():
    assert (TopK("x", 3).counters, TopK("x", 100).counters) == (64, 400)
    assert TopK("x", 3, capacity=5).counters == 5
    assert len(finish_one(TopK("x", 70), x=list(range(1_000)))["top"]) == 70


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 0}, "`k` is 0; expected at least 1"),
        ({"k": 2.0}, "`k` is 2.0; expected a whole number"),
        ({"k": 5, "capacity": 4}, "`capacity` is 4; expected at least k, 5"),
        ({"k": 5, "capacity": 2**20 + 1}, "at most"),
    ],
)
def test_sizes_without_a_meaning_are_refused(parameters, message):
    with pytest.raises(InvalidParameterError, match=message):
        TopK("x", **parameters)
