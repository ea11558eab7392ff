import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive.ring import Ring as NaiveRing
from tests.streams import loads, streams
from unskew.errors import UnskewError
from unskew.grouping.consistent import ConsistentHashing
from unskew.hashing.mix import mix
from unskew.testing import check_grouping

KEYS = mix(np.arange(20_000, dtype=np.uint64))


@given(
    stream=streams(max_tuples=100),
    n=st.integers(2, 20),
    seed=st.integers(0, 2**64 - 1),
    points=st.integers(1, 30),
    data=st.data(),
)
def test_it_routes_as_its_twin(stream, n, seed, points, data):
    speeds = st.lists(st.floats(0.1, 5), min_size=n, max_size=n).map(tuple)
    capacities = data.draw(st.none() | speeds)
    grouping = ConsistentHashing(n, seed, capacities, points)

    workers = grouping.build().route(*stream)

    twin = NaiveRing(range(n), capacities, points, seed)
    assert workers.tolist() == [twin.lookup(key) for key in stream.hashes.tolist()]


@pytest.mark.parametrize("n", [2, 3, 100, 3000])
def test_the_laws_hold_whatever_the_capacities(n):
    check_grouping(ConsistentHashing(n))
    check_grouping(ConsistentHashing(n, capacities=np.linspace(0.5, 2, n), points=20))


def test_a_resize_moves_only_what_it_must():
    router = ConsistentHashing(10).build()
    at_ten = router.route(KEYS)

    at_eleven = router.resize(11).route(KEYS)
    at_nine = router.resize(9).route(KEYS)

    assert set(at_eleven[at_eleven != at_ten]) == {10}
    assert set(at_ten[at_nine != at_ten]) == {9}
    assert router.resize(11).resize(10).route(KEYS).tolist() == at_ten.tolist()
    assert router.route(KEYS).tolist() == at_ten.tolist()


def test_other_capacities_move_keys_to_who_has_more():
    router = ConsistentHashing(4).build()

    before, after = (
        loads(each.route(KEYS), 4) for each in (router, router.resize(4, [1, 1, 1, 3]))
    )

    assert after[3] > 1.8 * before[3]
    assert all(after[:3] < before[:3])


@pytest.mark.parametrize(
    "settings",
    [
        {"points": 0},
        {"points": 1.5},
        {"points": 2**24},
        {"capacities": (1, 0, 1)},
        {"capacities": (1, float("nan"), 1)},
        {"capacities": (1, 1)},
        {"capacities": (1e6, 1e6, 1e6)},
    ],
)
def test_what_no_ring_can_be_drawn_of_is_refused(settings):
    with pytest.raises(UnskewError):
        ConsistentHashing(3, **settings)


@pytest.mark.parametrize("n", [0, 1, -3])
def test_a_resize_to_too_few_is_refused(n):
    with pytest.raises(UnskewError):
        ConsistentHashing(3).build().resize(n)
