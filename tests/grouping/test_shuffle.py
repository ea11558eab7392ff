import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import unskew
from tests.naive import groupings as naive
from tests.streams import loads, streams
from unskew.grouping.base import first_turn


@given(stream=streams(), n=st.integers(2, 50), source=st.integers(0, 2**63 - 1))
def test_it_routes_as_its_twin(stream, n, source):
    workers = unskew.grouping("shuffle", n).build(source=source).route(*stream)

    assert workers.tolist() == naive.ShuffleGrouping(n, first_turn(source, n)).route(
        *stream.lists()
    )


@given(n=st.integers(2, 50), sizes=st.lists(st.integers(1, 200), min_size=1, max_size=5))
def test_loads_differ_by_at_most_one(n, sizes):
    router = unskew.grouping("shuffle", n).build(source=3)

    workers = np.concatenate([router.route(np.zeros(size, np.uint64)) for size in sizes])

    assert np.ptp(loads(workers, n)) <= 1


def test_many_short_sources_do_not_all_start_with_the_same_worker():
    grouping = unskew.grouping("shuffle", 10)
    one = np.zeros(1, np.uint64)

    starts = [grouping.build(source=source).route(one)[0] for source in range(1000)]

    assert np.ptp(np.bincount(starts, minlength=10)) <= 3
