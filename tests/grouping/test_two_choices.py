import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import unskew
from tests.naive import groupings as naive
from tests.streams import streams


@given(
    stream=streams(),
    n=st.integers(2, 50),
    seed=st.integers(0, 2**64 - 1),
    source=st.integers(0, 2**63 - 1),
)
def test_it_routes_as_its_twin(stream, n, seed, source):
    workers = unskew.grouping("two-choices", n, seed=seed).build(source=source).route(*stream)

    assert workers.tolist() == naive.TwoChoices(n, seed, source).route(*stream.lists())


def test_keys_do_not_matter():
    random = np.random.default_rng(0)
    grouping = unskew.grouping("two-choices", 10)

    some = grouping.build().route(random.integers(0, 2**64, 1000, np.uint64))
    others = grouping.build().route(np.zeros(1000, np.uint64))

    assert np.array_equal(some, others)


def test_sources_draw_different_workers():
    grouping = unskew.grouping("two-choices", 100)
    hashes = np.zeros(1000, np.uint64)

    same = grouping.build(source=0).route(hashes) == grouping.build(source=1).route(hashes)

    assert same.mean() < 0.05
