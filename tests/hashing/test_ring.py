import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.naive.ring import Ring as NaiveRing
from unskew.errors import InvalidInputError, InvalidParameterError, UnskewError
from unskew.hashing.mix import mix
from unskew.hashing.ring import MAX_POINTS, Ring, point_of, shared_ring

KEYS = mix(np.arange(20_000, dtype=np.uint64))
SEEDS = st.integers(0, 2**64 - 1)
WORKERS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=12, unique=True)
SPEEDS = st.floats(0.02, 5)


@st.composite
def rings(draw):
    workers = draw(WORKERS)
    capacities = draw(
        st.none() | st.lists(SPEEDS, min_size=len(workers), max_size=len(workers)).map(tuple)
    )
    return workers, capacities, draw(st.integers(1, 30)), draw(SEEDS)


@given(ring=rings(), keys=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50))
@example(ring=([0], None, 1, 0), keys=[0, 2**64 - 1])
def test_it_finds_what_its_twin_finds(ring, keys):
    workers, capacities, points, seed = ring

    found = Ring(workers, capacities, points=points, seed=seed).lookup(np.array(keys, np.uint64))

    twin = NaiveRing(workers, capacities, points, seed)
    assert found.tolist() == [twin.lookup(key) for key in keys]


@given(ring=rings(), at=st.integers(0, 10_000))
def test_a_point_belongs_to_its_worker_and_so_does_all_before_it(ring, at):
    """A point is the last word of its arc; keys on and just behind it are the hard ones."""
    workers, capacities, points, seed = ring
    circle = Ring(workers, capacities, points=points, seed=seed).circle
    at %= len(circle.points) - 1
    point = circle.points[at]

    assert point_of(point, circle.points, circle.first, circle.shift) == at
    if at and circle.points[at - 1] < point:
        behind = circle.points[at - 1] + np.uint64(1)
        assert point_of(behind, circle.points, circle.first, circle.shift) == at


@given(ring=rings(), worker=st.integers(0, 2**31 - 1), capacity=SPEEDS)
def test_who_comes_takes_keys_and_no_other_key_moves(ring, worker, capacity):
    workers, capacities, points, seed = ring
    before = Ring(workers, capacities, points=points, seed=seed)
    if worker in workers:
        return

    after = before.add(worker, capacity)

    old, new = before.lookup(KEYS[:2000]), after.lookup(KEYS[:2000])
    assert set(new[old != new]) <= {worker}
    assert after.remove(worker).lookup(KEYS[:2000]).tolist() == old.tolist()


@given(ring=rings(), at=st.integers(0, 11))
def test_who_goes_leaves_its_keys_and_no_other_key_moves(ring, at):
    workers, capacities, points, seed = ring
    if len(workers) == 1:
        return
    before = Ring(workers, capacities, points=points, seed=seed)
    gone = workers[at % len(workers)]

    old, new = before.lookup(KEYS[:2000]), before.remove(gone).lookup(KEYS[:2000])

    assert set(old[old != new]) <= {gone}
    assert gone not in new


@pytest.mark.parametrize("n", [2, 10, 100])
def test_about_one_key_in_n_moves(n):
    moved = []
    for seed in range(10):
        ring = Ring(range(n), seed=seed)
        old = ring.lookup(KEYS)
        moved += [np.mean(old != ring.add(n).lookup(KEYS)) * (n + 1)]
        moved += [np.mean(old != ring.remove(n // 2).lookup(KEYS)) * n]

    assert 0.9 < np.mean(moved) < 1.1
    assert min(moved) > 0.6
    assert max(moved) < 1.5


def test_shares_follow_capacities():
    capacities = np.array([0.5, 1, 1, 2, 4])

    shares = np.zeros(5)
    for seed in range(10):
        ring = Ring(range(5), capacities.tolist(), seed=seed)
        shares += np.bincount(ring.lookup(KEYS), minlength=5) / len(KEYS) / 10

    assert shares == pytest.approx(capacities / capacities.sum(), rel=0.1)


def test_more_points_even_the_shares_out():
    spreads = [
        np.mean(
            [
                np.std(np.bincount(Ring(range(10), points=points, seed=seed).lookup(KEYS)))
                for seed in range(5)
            ]
        )
        for points in (1, 10, 100, 1000)
    ]

    assert spreads == sorted(spreads, reverse=True)


def test_the_order_of_workers_does_not_matter():
    forth, back = Ring([3, 1, 2], [1, 2, 3]), Ring([2, 1, 3], [3, 2, 1])

    assert forth.lookup(KEYS).tolist() == back.lookup(KEYS).tolist()


def test_no_keys_have_no_workers():
    found = Ring(range(3)).lookup(np.empty(0, np.uint64))

    assert found.dtype == np.int32
    assert found.size == 0


def test_a_ring_is_drawn_once_for_all_routers():
    assert shared_ring(7, None, 50, 3) is shared_ring(7, None, 50, 3)
    assert not any(array.flags.writeable for array in shared_ring(7, None, 50, 3).circle[:3])


@pytest.mark.parametrize(
    ("workers", "capacities", "options"),
    [
        ([], None, {}),
        ([1, 2, 1], None, {}),
        ([-1], None, {}),
        ([0, 2**31], None, {}),
        ([0, 1.5], None, {}),
        ([True], None, {}),
        ([0, 1], [1, 0], {}),
        ([0, 1], [1, -1], {}),
        ([0, 1], [1, float("nan")], {}),
        ([0, 1], [1, float("inf")], {}),
        ([0, 1], [1], {}),
        ([0, 1], [1, 1, 1], {}),
        ([0, 1], ["1", "1"], {}),
        ([0], None, {"points": 0}),
        ([0], None, {"points": 2.5}),
        ([0, 1], None, {"points": MAX_POINTS}),
        ([0], None, {"seed": -1}),
    ],
)
def test_a_ring_that_cannot_be_is_refused(workers, capacities, options):
    with pytest.raises(UnskewError):
        Ring(workers, capacities, **options)


def test_a_refused_change_changes_nothing():
    ring = Ring([0, 1], [1.0, 2.0])
    before = ring.lookup(KEYS).tolist()

    for change in (
        lambda: ring.add(1),
        lambda: ring.add(-1),
        lambda: ring.add(2, 0.0),
        lambda: ring.add(2, -1.0),
        lambda: ring.add(2, float("nan")),
        lambda: ring.remove(2),
        lambda: ring.remove(True),
        lambda: ring.remove(0).remove(1),
    ):
        with pytest.raises((InvalidParameterError, InvalidInputError)):
            change()

    assert ring.lookup(KEYS).tolist() == before
    assert (ring.workers, ring.capacities) == ((0, 1), (1.0, 2.0))


def test_an_error_names_the_worker():
    with pytest.raises(InvalidParameterError, match="`workers` is 5; expected each worker once"):
        Ring([3, 5, 5])
    with pytest.raises(InvalidParameterError, match="`worker` is 4; expected one of 3 on the ring"):
        Ring([1, 2, 3]).remove(4)
    with pytest.raises(InvalidParameterError, match="multiples of a usual worker's, which is 1"):
        Ring([0, 1], [3200, 2400], points=10_000)
