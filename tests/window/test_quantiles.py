import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import aggregators as naive
from unskew.errors import InvalidParameterError, InvalidTypeError
from unskew.window import count_up_to, quantile
from unskew.window.histogram import HISTOGRAM

NUMBERS = st.floats(-1e6, 1e6).map(lambda x: round(x, 3) + 0.0)


@st.composite
def histograms(draw):
    """Draw a histogram of at least one value; the ends may be centres."""
    bins = sorted(draw(st.dictionaries(NUMBERS, st.integers(1, 9), min_size=1, max_size=6)).items())
    low = bins[0][0] - draw(st.sampled_from([0.0, 0.5, 7.0]))
    high = bins[-1][0] + draw(st.sampled_from([0.0, 0.5, 7.0]))
    return low, bins, high


def column(*drawn):
    """Histograms as a column, with an empty and a missing one before each."""
    rows = []
    for low, bins, high in drawn:
        entries = [{"centre": centre, "count": n} for centre, n in bins]
        rows += [{"low": None, "high": None, "bins": []}, None]
        rows += [{"low": low, "high": high, "bins": entries}]
    return pa.array(rows, HISTOGRAM)


def answers(found):
    """What was answered for those that are neither empty nor missing."""
    values = found.to_pylist()
    assert values[0::3] == values[1::3] == [None] * (len(values) // 3)
    return values[2::3]


@given(st.lists(histograms(), min_size=1, max_size=3), NUMBERS)
def test_counts_are_those_of_the_twin(drawn, point):
    found = answers(count_up_to(column(*drawn), point))

    assert found == pytest.approx([naive.count_up_to(*each, point) for each in drawn], rel=1e-9)


@given(st.lists(histograms(), min_size=1, max_size=3), st.floats(0, 1))
def test_as_many_values_lie_up_to_a_quantile_as_it_says(drawn, q):
    for each, point in zip(drawn, answers(quantile(column(*drawn), q)), strict=True):
        low, bins, high = each
        total = sum(n for _, n in bins)
        assert low <= point <= high
        # Where an end is a centre, half a bin lies in one point.
        slack = 1e-6 * total
        at_ends = (bins[0][1] / 2 if low == bins[0][0] else 0) + (
            bins[-1][1] / 2 if high == bins[-1][0] else 0
        )
        assert abs(naive.count_up_to(*each, point) - q * total) <= at_ends + slack


@given(histograms(), st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_quantiles_ascend_from_the_least_to_the_greatest_value(drawn, shares):
    low, _, high = drawn

    found = [answers(quantile(column(drawn), q))[0] for q in [0.0, *sorted(shares), 1.0]]

    assert (found[0], found[-1]) == (low, high)
    assert all(b >= a - 1e-6 for a, b in zip(found, found[1:], strict=False))  # noqa: RUF007


def test_points_outside_have_none_or_all_of_the_values():
    (histogram,) = [column((1.0, [(2.0, 4)], 3.0))]

    assert [
        answers(count_up_to(histogram, point)) for point in (-1e308, 0.9, 3.0, float("inf"))
    ] == [
        [0.0],
        [0.0],
        [4.0],
        [4.0],
    ]


def test_the_widest_histogram_of_all_has_quantiles():
    wide = column((-1.7e308, [(-1e308, 1), (1e308, 1)], 1.7e308))

    assert answers(quantile(wide, 0.5)) == [0.0]
    assert answers(count_up_to(wide, 0.0)) == [1.0]


def test_histograms_may_come_as_rows_in_chunks_or_slices():
    histogram = {"low": 0.0, "high": 2.0, "bins": [{"centre": 1.0, "count": 2}]}
    rows = pa.array([None, histogram, histogram], HISTOGRAM)
    chunks = pa.chunked_array([rows.slice(1), rows.slice(0, 1)])

    assert quantile([histogram], 0.5).to_pylist() == [1.0]
    assert quantile(rows.slice(1, 1), 0.5).to_pylist() == [1.0]
    assert quantile(chunks, 0.5).to_pylist() == [1.0, 1.0, None]
    assert quantile(pa.array([], HISTOGRAM), 0.5).to_pylist() == []


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan"), "0.5", None, True])
def test_what_is_no_share_is_refused(q):
    with pytest.raises(InvalidParameterError, match="`q` is"):
        quantile([], q)


@pytest.mark.parametrize("point", [float("nan"), "1", None, True])
def test_what_is_no_point_is_refused(point):
    with pytest.raises(InvalidParameterError, match="`point` is"):
        count_up_to([], point)


def test_what_is_no_histogram_is_refused():
    with pytest.raises(InvalidTypeError, match="pass what Histogram gave"):
        quantile(pa.array([1.0, 2.0]), 0.5)
