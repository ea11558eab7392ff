import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sketch.dyadic import lists
from unskew.sketch.least import heed, least, new_order, renew

SIZES = st.integers(1, 9)
ONE = st.just(1.0)
WEIGHTED = st.sampled_from([0.0, 0.25, 1.0, 1.0, 2.0, 3.75])


def steps(weights):
    """Draw which number grows by how much: any (an index), or the least one (None)."""
    return lists(st.tuples(st.none() | st.integers(0, 8), weights), max_size=60)


def grow(numbers, order, growth):
    """Let numbers grow one by one and compare with a plain search before each."""
    for index, weight in growth:
        lowest = np.argmin(numbers)  # NumPy returns the first of equals
        assert least(numbers, order) == lowest
        at = lowest if index is None else index % len(numbers)
        heed(weight, numbers, order)
        numbers[at] += weight
    assert least(numbers, order) == np.argmin(numbers)


@given(SIZES, steps(ONE))
def test_the_least_of_numbers_that_grow_by_one(size, growth):
    order = new_order(size)

    grow(np.zeros(size), order, growth)

    assert order.whole[0]


@given(SIZES, steps(WEIGHTED))
def test_the_least_of_numbers_that_grow_by_any_weight(size, growth):
    grow(np.zeros(size), new_order(size), growth)


@given(SIZES, steps(ONE), steps(WEIGHTED), steps(ONE))
def test_the_least_is_found_across_the_change_from_list_to_heap(size, before, weighted, after):
    numbers, order = np.zeros(size), new_order(size)

    for growth in (before, weighted, after):
        grow(numbers, order, growth)


@given(SIZES, st.integers(0, 8), steps(ONE))
def test_a_weight_of_zero_keeps_the_list(size, index, growth):
    numbers, order = np.zeros(size), new_order(size)

    grow(numbers, order, [(index, 0.0), *growth, (index, 0.0)])

    assert order.whole[0]


@pytest.mark.parametrize("weight", [2.0, 0.5])
def test_any_weight_but_one_ends_the_list(weight):
    # A list of the least, used up one by one, is right only while nothing skips a value.
    numbers, order = np.zeros(3), new_order(3)

    grow(numbers, order, [(None, 1.0), (None, weight)])

    assert not order.whole[0]


@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 2.5]), min_size=1, max_size=9),
    steps(WEIGHTED),
    st.lists(st.sampled_from([0.0, 1.0, 1.5, 3.0]), min_size=9, max_size=9),
    steps(WEIGHTED),
)
def test_after_renewal_nothing_of_the_old_order_is_left(first, growth, second, more):
    numbers, order = np.array(first), new_order(len(first))
    renew(order, numbers)
    grow(numbers, order, growth)

    numbers[:] = second[: len(numbers)]  # may be less than before
    renew(order, numbers)

    grow(numbers, order, more)


@given(SIZES, steps(WEIGHTED), steps(WEIGHTED))
def test_renewal_in_the_middle_changes_no_answer(size, before, after):
    # What is known of the order is a cache, so a snapshot need not carry it.
    numbers, order = np.zeros(size), new_order(size)
    grow(numbers, order, before)

    renew(order, numbers)

    grow(numbers, order, after)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_long_run_over_many_numbers(weighted):
    random = np.random.default_rng(5)
    weights = random.integers(1, 9, 3_000) / 4 if weighted else np.ones(3_000)
    growth = [
        (None if own else int(index), weight)
        for own, index, weight in zip(
            random.random(3_000) < 0.7, random.integers(0, 100, 3_000), weights, strict=True
        )
    ]

    grow(np.zeros(100), new_order(100), growth)
