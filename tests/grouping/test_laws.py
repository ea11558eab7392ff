"""Every scheme of the catalogue, held to the laws on any stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew
from tests.streams import streams
from unskew.testing import check_grouping


@pytest.mark.parametrize("name", unskew.groupings())
@given(
    stream=streams(),
    n_workers=st.integers(2, 40),
    seed=st.integers(0, 2**64 - 1),
    cuts=st.lists(st.integers(0, 400), max_size=4),
)
def test_the_laws_hold_on_any_stream(name, stream, n_workers, seed, cuts):
    grouping = unskew.grouping(name, n_workers, seed=seed)

    check_grouping(grouping, stream.hashes, stream.weights, cuts)


@pytest.mark.parametrize("n_workers", [2, 3, 100, 3000])
@pytest.mark.parametrize("name", unskew.groupings())
def test_the_laws_hold_on_typical_streams(name, n_workers):
    check_grouping(unskew.grouping(name, n_workers))
