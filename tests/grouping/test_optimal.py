import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew
from tests.streams import replicas, streams
from unskew.errors import InvalidInputError, InvalidParameterError
from unskew.grouping.optimal import least_replicas, least_workers


def fewest(counts, limits):
    """Try every choice of workers for every key; a choice will do if Hall's condition holds."""
    n, keys = len(limits), len(counts)
    supports = [set(s) for size in range(1, n + 1) for s in itertools.combinations(range(n), size)]
    groups = [g for size in range(1, keys + 1) for g in itertools.combinations(range(keys), size)]
    best = n * keys
    for choice in itertools.product(supports, repeat=keys):
        size = sum(map(len, choice))
        if size < best and all(
            sum(counts[key] for key in group)
            <= sum(limits[w] for w in set().union(*(choice[key] for key in group)))
            for group in groups
        ):
            best = size
    return best


@given(
    counts=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    n=st.integers(1, 3),
    tolerance=st.sampled_from([0.0, 0.1, 0.5]),
)
def test_no_choice_of_workers_has_fewer_replicas(counts, n, tolerance):
    level = sum(counts) / n
    limit = max(int(level * (1 + tolerance) + 1e-9), -(-sum(counts) // n))

    bound = least_replicas(np.array(counts), n, tolerance)

    assert bound <= fewest(counts, [limit] * n)


def test_the_bound_is_reached_where_keys_are_large_or_crowded():
    assert least_replicas(np.array([60, 25, 10, 5]), 4) == fewest([60, 25, 10, 5], [25] * 4)
    assert least_replicas(np.array([20, 20, 20]), 2) == fewest([20, 20, 20], [30, 30])


@given(stream=streams(weighted=False), n=st.integers(2, 30))
def test_waterline_lies_between_the_bound_and_n_above_it(stream, n):
    _, counts = np.unique(stream.hashes, return_counts=True)

    workers = unskew.grouping("waterline", n).build().route(stream.hashes)

    found = replicas(stream.hashes, workers).sum()
    bound = least_replicas(counts, n, 0.01)
    assert bound <= found <= bound + n - 1


def test_faster_workers_hold_more_of_a_key():
    shares = np.array([0.5, 0.25, 0.25])

    assert least_workers(np.array([50, 30, 20, 0]), 3, shares=shares).tolist() == [1, 1, 1]
    assert least_workers(np.array([51, 29, 20]), 3, shares=shares).tolist() == [2, 1, 1]
    assert least_workers(np.array([51, 29, 20]), 3, 0.02, shares).tolist() == [1, 1, 1]


def test_nothing_needs_no_worker():
    assert least_replicas(np.zeros(3), 2) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, -1], 2), "`amounts` is no list of counts"),
        (([1.5], 2), "`amounts` is no list of counts"),
        (([[1]], 2), "`amounts` is no list of counts"),
        (([1], 2, -0.1), "`tolerance` is -0.1"),
        (([1], 2, 0.0, np.ones(2)), "pass 2 numbers that add up to 1"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        least_replicas(*arguments)
    with pytest.raises(InvalidParameterError, match="`n_workers` is 0"):
        least_replicas(np.ones(1), 0)
