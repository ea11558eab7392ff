import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import unskew
from tests.naive import groupings as naive
from tests.streams import replicas, streams


@given(stream=streams(), n=st.integers(2, 50), seed=st.integers(0, 2**64 - 1))
def test_it_routes_as_its_twin(stream, n, seed):
    workers = unskew.grouping("pkg", n, seed=seed).build().route(*stream)

    assert workers.tolist() == naive.PartialKeyGrouping(n, seed).route(*stream.lists())


@given(stream=streams(), n=st.integers(2, 50), seed=st.integers(0, 2**64 - 1))
def test_a_key_is_on_at_most_two_workers(stream, n, seed):
    workers = unskew.grouping("pkg", n, seed=seed).build().route(*stream)

    assert replicas(stream.hashes, workers).max() <= 2


def test_a_hot_key_is_split_evenly_over_two_workers():
    for seed in range(100):
        workers = unskew.grouping("pkg", 5, seed=seed).build().route(np.full(10, 42, np.uint64))

        assert sorted(np.bincount(workers, minlength=5)) == [0, 0, 0, 5, 5]


def test_a_heavy_tuple_counts_for_what_it_costs():
    hashes = np.full(4, 42, np.uint64)

    workers = unskew.grouping("pkg", 4).build().route(hashes, np.array([3.0, 1.0, 1.0, 1.0]))

    assert (workers == workers[0]).tolist() == [True, False, False, False]
