import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import cg as naive
from unskew.grouping.apportion import apportion

capacities = st.lists(st.integers(1, 1000), min_size=1, max_size=20)


def shares(speeds):
    return np.array(speeds) / sum(speeds)


@given(speeds=capacities, spare=st.integers(0, 200))
def test_it_shares_out_as_its_twin(speeds, spare):
    units = len(speeds) + spare

    assert apportion(units, shares(speeds)).tolist() == naive.apportioned(units, speeds)


@given(speeds=capacities, spare=st.integers(0, 200), seed=st.integers(0, 1000))
def test_units_stay_where_they_are_held_if_rounding_allows(speeds, spare, seed):
    units = len(speeds) + spare
    held = np.random.default_rng(seed).multinomial(units, shares(speeds))
    without = apportion(units, shares(speeds))

    counts = apportion(units, shares(speeds), held)

    assert counts.sum() == units
    assert abs(counts - without).max() <= 1
    assert np.maximum(held - counts, 0).sum() <= np.maximum(held - without, 0).sum()


def test_what_is_held_already_moves_nowhere():
    held = np.array([4, 3, 3])

    for turned in (held, np.roll(held, 1), np.roll(held, 2)):
        assert apportion(10, np.full(3, 1 / 3), turned).tolist() == turned.tolist()
