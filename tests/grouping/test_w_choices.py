import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew
from tests.naive import groupings as naive
from tests.streams import loads, replicas, streams
from unskew.grouping.base import first_turn


@given(
    stream=streams(),
    n=st.integers(2, 40),
    seed=st.integers(0, 2**64 - 1),
    source=st.integers(0, 100),
    theta=st.sampled_from([None, 0.05, 0.3]),
)
def test_it_routes_as_its_twin(stream, n, seed, source, theta):
    grouping = unskew.grouping("w-choices", n, seed=seed, theta=theta)

    workers = grouping.build(source=source).route(*stream)

    twin = naive.WChoices(n, seed, grouping.threshold, grouping.counters, first_turn(source, n))
    assert workers.tolist() == twin.route(*stream.lists())


@given(stream=streams(), n=st.integers(2, 40))
def test_a_key_that_was_never_in_the_head_is_on_two_workers_at_most(stream, n):
    workers = unskew.grouping("w-choices", n, theta=0.4).build().route(*stream)

    weights = np.ones(len(workers)) if stream.weights is None else stream.weights
    totals = np.cumsum(weights)
    for key, count in zip(np.unique(stream.hashes), replicas(stream.hashes, workers), strict=True):
        # SpaceSaving of 2 / theta counters is off by at most half of theta.
        own = np.cumsum(np.where(stream.hashes == key, weights, 0.0))
        if np.all(own + 0.2 * totals < 0.4 * totals - 1e-9):
            assert count <= 2


@pytest.mark.parametrize("weighted", [False, True])
def test_one_hot_key_is_spread_perfectly(weighted):
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 5000) if weighted else None

    workers = unskew.grouping("w-choices", 8).build().route(np.full(5000, 7, np.uint64), weights)

    assert np.ptp(loads(workers, 8, weights)) <= (1.5 if weighted else 1)


def test_each_source_begins_with_another_worker():
    grouping = unskew.grouping("w-choices", 16)
    hot = np.zeros(1, np.uint64)

    starts = {int(grouping.build(source=source).route(hot)[0]) for source in range(16)}

    assert len(starts) >= 12


def test_the_counters_suffice_for_theta():
    assert unskew.grouping("w-choices", 10).counters == math.ceil(2 / (1 / 50))
