import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import unskew
from tests.naive import groupings as naive
from tests.streams import replicas, streams
from unskew.hashing import candidate


@given(stream=streams(), n=st.integers(2, 50), seed=st.integers(0, 2**64 - 1))
def test_it_routes_as_its_twin(stream, n, seed):
    workers = unskew.grouping("key", n, seed=seed).build().route(*stream)

    assert workers.tolist() == naive.KeyGrouping(n, seed).route(*stream.lists())


@given(stream=streams(), n=st.integers(2, 50))
def test_a_key_is_on_one_worker(stream, n):
    workers = unskew.grouping("key", n).build().route(*stream)

    assert replicas(stream.hashes, workers).max() == 1


def test_it_is_the_first_candidate_of_a_key():
    hashes = np.arange(1000, dtype=np.uint64)

    workers = unskew.grouping("key", 7, seed=3).build().route(hashes)

    assert np.array_equal(workers, candidate(hashes, 0, seed=3, n=7))
