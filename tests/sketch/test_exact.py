import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sketch.dyadic import streams, zipf_stream
from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.sketch import ExactCounter


def count(*parts):
    counter = ExactCounter()
    for part in parts:
        counter.update(*part)
    return counter


@given(streams())
def test_it_counts_as_a_dict_does(stream):
    counter = count(stream)
    expected = stream.true_weights()

    found = counter.tracked()

    assert dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True)) == expected
    assert not found.errors.any()
    assert counter.total == sum(expected.values())
    assert len(counter) == len(expected)


@given(streams(), st.integers(0, 120), st.integers(0, 120))
def test_how_the_stream_is_cut_does_not_matter(stream, one, other):
    cuts = sorted(min(at, len(stream.hashes)) for at in (one, other))

    whole, cut = count(stream), count(*stream.cut(*cuts))

    assert [c.tolist() for c in cut.tracked()] == [c.tolist() for c in whole.tracked()]


def test_the_heaviest_come_first_and_among_equals_the_lowest_key():
    counter = count((np.array([9, 4, 9, 7, 4, 1], np.uint64),))

    assert counter.tracked().keys.tolist() == [4, 9, 1, 7]


def test_a_key_never_seen_weighs_nothing():
    seen, unseen = np.array([5, 2**64 - 1], np.uint64), np.array([0, 4, 6, 2**64 - 2], np.uint64)

    assert count((seen,)).estimate(unseen).tolist() == [0.0] * 4
    assert count((seen,)).estimate(seen).tolist() == [1.0, 1.0]
    assert ExactCounter().estimate(seen).tolist() == [0.0, 0.0]


def test_the_heavy_keys_are_those_that_reach_their_share():
    counter = count((np.repeat(np.array([1, 2, 3], np.uint64), [5, 3, 2]),))

    assert counter.heavy(0.3).keys.tolist() == [1, 2]
    assert counter.heavy(0.301).keys.tolist() == [1]


def test_no_key_of_a_long_stream_is_lost():
    stream = zipf_stream(30_000, weighted=True)

    found = count(*stream.cut(10_000, 20_000)).tracked()

    assert dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True)) == (
        stream.true_weights()
    )


def test_bad_input_changes_nothing():
    counter = count((np.array([1, 2], np.uint64),))

    with pytest.raises(InvalidTypeError):
        counter.update([3])
    with pytest.raises(InvalidInputError):
        counter.update(np.array([3], np.uint64), np.array([-1.0]))

    assert counter.tracked().keys.tolist() == [1, 2]
