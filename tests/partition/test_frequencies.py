import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.partition import Counted, Frequencies

COUNTS = st.dictionaries(st.integers(0, 20), st.integers(0, 100), max_size=15)


def counted(counts, more=0):
    keys = np.array(list(counts), np.uint64)
    return Counted(keys, np.array(list(counts.values()), float), float(sum(counts.values()) + more))


@given(each=st.lists(COUNTS, max_size=4), more=st.integers(0, 50))
def test_sources_together_have_the_sum_of_their_counts(each, more):
    together = Counted.together(counted(counts, more) for counts in each)

    expected: dict[int, float] = {}
    for counts in each:
        for key, count in counts.items():
            expected[key] = expected.get(key, 0) + count
    assert dict(zip(together.keys.tolist(), together.counts.tolist(), strict=True)) == expected
    assert together.total == sum(expected.values()) + more * len(each)


@given(counts=COUNTS, more=st.integers(1, 50))
def test_frequencies_are_shares_of_all_tuples_the_heaviest_first(counts, more):
    frequencies = Frequencies.counted(counted(counts, more))

    total = sum(counts.values()) + more
    order = sorted(counts, key=lambda key: (-counts[key], key))
    assert frequencies.keys.tolist() == order
    assert frequencies.shares.tolist() == [counts[key] / total for key in order]
    every = np.arange(25, dtype=np.uint64)
    assert frequencies.of(every).tolist() == [counts.get(key, 0) / total for key in range(25)]


def test_where_nothing_was_counted_no_key_is_known():
    frequencies = Frequencies.counted(Counted.nothing())

    assert len(frequencies) == 0
    assert frequencies.of(np.array([3], np.uint64)).tolist() == [0]
    assert repr(frequencies) == "Frequencies(0 keys, 0.000 of the tuples)"


def test_the_heaviest_are_kept_and_the_total_stays():
    four = counted({5: 1, 6: 4, 7: 1, 8: 2})

    keys, counts, total = four.heaviest(3)

    assert (keys.tolist(), counts.tolist(), total) == ([5, 6, 8], [1, 4, 2], 8)
    assert four.heaviest(4) is four


def test_what_fades_keeps_its_shares():
    faded = counted({1: 4, 2: 2}, more=2).faded(0.5)

    assert (faded.counts.tolist(), faded.total) == ([2, 1], 4)


KEYS = np.array([1, 2], np.uint64)


@pytest.mark.parametrize(
    ("keys", "counts", "total", "error", "says"),
    [
        (KEYS, np.array([1.0, np.nan]), 3.0, InvalidInputError, "nan at position 1"),
        (KEYS, np.array([1.0, -1.0]), 3.0, InvalidInputError, "-1.0 at position 1"),
        (KEYS, np.ones(3), 3.0, InvalidInputError, "3 values for 2"),
        (KEYS, None, 3.0, InvalidTypeError, "one for each key"),
        (KEYS, [1.0, 1.0], 3.0, InvalidTypeError, "a list"),
        (KEYS[[0, 0]], np.ones(2), 3.0, InvalidInputError, "a key twice"),
        (KEYS.astype(float), np.ones(2), 3.0, InvalidTypeError, "64-bit key hashes"),
        (KEYS, np.ones(2), 1.9, InvalidInputError, "is 1.9, and the counts sum to 2"),
        (KEYS, np.ones(2), np.nan, InvalidInputError, "is nan"),
        (KEYS, np.ones(2), np.inf, InvalidInputError, "is inf"),
        (KEYS, np.ones(2), "3", InvalidTypeError, "a str"),
    ],
)
def test_what_nobody_can_have_counted_is_refused(keys, counts, total, error, says):
    with pytest.raises(error, match=says):
        Counted(keys, counts, total).checked()


@pytest.mark.parametrize(
    ("keys", "shares", "says"),
    [
        (KEYS, [0.5], "1 values for 2 keys"),
        (KEYS, [0.9, 0.2], "sum to 1.1"),
        (KEYS, [-0.1, 0.2], "shares from 0 to 1"),
        (KEYS, [np.nan, 0.2], "shares from 0 to 1"),
        (KEYS[[0, 0]], [0.1, 0.2], "a key twice"),
    ],
)
def test_shares_that_cannot_be_are_refused(keys, shares, says):
    with pytest.raises(InvalidInputError, match=says):
        Frequencies(keys, np.array(shares))
