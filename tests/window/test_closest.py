import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import aggregators as naive
from unskew.window.closest import Bins, merge_closest

CENTRES = st.floats(-1e308, 1e308) | st.integers(-20, 20).map(float)
HISTOGRAMS = st.lists(
    st.dictionaries(CENTRES.map(lambda x: x + 0.0), st.integers(1, 9), max_size=30), max_size=4
)


def as_bins(histograms):
    held = [sorted(each.items()) for each in histograms]
    entries = [entry for each in held for entry in each]
    return Bins(
        np.cumsum([0, *map(len, held)]),
        np.array([centre for centre, _ in entries], np.float64),
        np.array([n for _, n in entries], np.int64),
    )


def as_lists(bins):
    entries = list(zip(bins.centres.tolist(), bins.counts.tolist(), strict=True))
    ends = bins.offsets.tolist()
    return [entries[begin:end] for begin, end in zip(ends, ends[1:], strict=False)]  # noqa: RUF007


@given(HISTOGRAMS, st.integers(1, 12))
def test_it_equals_its_twin(histograms, limit):
    found = as_lists(merge_closest(as_bins(histograms), limit))

    assert found == [naive.merge_closest(each.items(), limit) for each in histograms]


@pytest.mark.parametrize("limit", [1, 7, 64, 999])
def test_it_equals_its_twin_on_a_long_one(limit):
    random = np.random.default_rng(limit)
    histogram = {float(x): int(random.integers(1, 5)) for x in random.lognormal(size=1_000)}

    found = as_lists(merge_closest(as_bins([histogram, {}, histogram]), limit))

    expected = naive.merge_closest(histogram.items(), limit)
    assert found == [expected, [], expected]


def test_among_equal_gaps_the_leftmost_is_closed_first():
    assert as_lists(merge_closest(as_bins([{0.0: 1, 1.0: 1, 2.0: 1, 3.0: 1}]), 3)) == [
        [(0.5, 2), (2.0, 1), (3.0, 1)]
    ]


def test_rounding_keeps_a_centre_between_those_it_came_from():
    three, more, still_more = 3.0, np.nextafter(3.0, 4), np.nextafter(3.0, 4) + 2**-51

    # In doubles, 3 * (1 / 10) + more * (9 / 10) is above both, and equal to the third.
    assert three * (1 / 10) + more * (9 / 10) == still_more
    (found,) = as_lists(merge_closest(as_bins([{three: 1, more: 9, still_more: 1, 9.0: 1}]), 3))

    assert found == [(more, 10), (still_more, 1), (9.0, 1)]


def test_what_it_is_given_stays_as_it_is():
    bins = as_bins([{0.0: 1, 1.0: 1, 5.0: 1}])

    merge_closest(bins, 1)

    assert as_lists(bins) == [[(0.0, 1), (1.0, 1), (5.0, 1)]]
