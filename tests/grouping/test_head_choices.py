import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import groupings as naive
from unskew.errors import InvalidInputError, InvalidParameterError
from unskew.grouping.head_choices import choices


@st.composite
def heads(draw):
    """Draw descending shares that sum to less than 1."""
    parts = draw(st.lists(st.floats(0.01, 1), max_size=12))
    mass = draw(st.floats(0.01, 0.99))
    return [mass * part / sum(parts) for part in sorted(parts, reverse=True)]


@given(head=heads(), n=st.integers(2, 200), epsilon=st.floats(1e-6, 0.1), distinct=st.booleans())
def test_it_is_the_smallest_d_that_every_prefix_allows(head, n, epsilon, distinct):
    tail = 1 - sum(head)

    d = choices(head, n, epsilon, distinct=distinct)

    expected = naive.solve(head, tail, n, epsilon, distinct)
    if d != expected:  # only where rounding decides whether a prefix fits
        assert abs(naive.slack(head, tail, n, epsilon, distinct, min(d, expected))) < 1e-9


def test_without_a_head_two_choices_do():
    assert choices([], 100) == 2


def test_a_key_needs_as_many_workers_as_its_share_fills():
    assert choices([0.5], 100, epsilon=0.5) >= 50


def test_a_key_of_nearly_all_tuples_needs_all_workers():
    assert choices([0.95], 20) == 20


def test_the_order_of_the_shares_does_not_matter():
    assert choices([0.1, 0.3], 50) == choices([0.3, 0.1], 50)


def test_the_printed_reach_asks_for_no_fewer_choices():
    for first in np.linspace(0.02, 0.4, 20):
        for n in (5, 10, 50, 100):
            head = [first, first / 2]
            assert choices(head, n) >= choices(head, n, distinct=True)


@pytest.mark.parametrize("head", [[0.7, 0.7], [-0.1], [0.0], [1.5], [float("nan")], [[0.1]]])
def test_what_are_no_shares_is_refused(head):
    with pytest.raises(InvalidInputError, match="shares of the stream"):
        choices(head, 10)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, -1.0, float("nan"), "low"])
def test_an_epsilon_outside_its_range_is_refused(epsilon):
    with pytest.raises(InvalidParameterError, match="epsilon"):
        choices([0.1], 10, epsilon)
