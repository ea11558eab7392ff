import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import unskew
from tests.naive import groupings as naive
from tests.streams import streams
from unskew.grouping.base import first_turn


@given(
    stream=streams(),
    n=st.integers(2, 40),
    seed=st.integers(0, 2**64 - 1),
    source=st.integers(0, 100),
    theta=st.sampled_from([None, 0.05, 0.3]),
)
def test_it_routes_as_its_twin(stream, n, seed, source, theta):
    grouping = unskew.grouping("round-robin", n, seed=seed, theta=theta)

    workers = grouping.build(source=source).route(*stream)

    twin = naive.RoundRobin(n, seed, grouping.threshold, grouping.counters, first_turn(source, n))
    assert workers.tolist() == twin.route(*stream.lists())


def test_the_head_goes_round_whatever_it_weighs():
    hot = np.zeros(8, np.uint64)

    workers = unskew.grouping("round-robin", 4).build().route(hot, np.arange(8.0) + 1)

    assert workers.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
