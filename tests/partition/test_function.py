import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import gedik as naive
from tests.naive.ring import Ring as NaiveRing
from unskew.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from unskew.hashing.mix import GOLDEN, mix
from unskew.hashing.ring import Ring
from unskew.partition import PartitionFunction, consistent_function

WORDS = [0, 1, 2, 3, 2**63, 2**64 - 2, 2**64 - 1]


def unmixed(word, seed):
    """Give the key whose place on the circle is a word, which puts keys where cuts are."""
    for constant, shifts in (
        (None, (31, 62)),
        (0x94D049BB133111EB, (27, 54)),
        (0xBF58476D1CE4E5B9, (30, 60)),
    ):
        if constant is not None:
            word = word * pow(constant, -1, 2**64) % 2**64
        word ^= (word >> shifts[0]) ^ (word >> shifts[1])
    return (word - seed * int(GOLDEN)) % 2**64


@given(
    n=st.integers(1, 8),
    points=st.integers(1, 20),
    seed=st.integers(0, 2**64 - 1),
    tracked=st.integers(0, 60),
    edges=st.lists(st.sampled_from(WORDS), unique=True),
    data=st.data(),
)
def test_it_looks_up_as_a_dict_over_a_ring_does(n, points, seed, tracked, edges, data):
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="keys"))
    at_edges = np.array([unmixed(word, seed) for word in edges], np.uint64)
    keys = np.unique(np.append(random.integers(0, 2**64, tracked, np.uint64), at_edges))
    random.shuffle(keys)
    workers = random.integers(0, n, len(keys))
    ring, twin = Ring(range(n), points=points, seed=seed), NaiveRing(range(n), None, points, seed)

    function = PartitionFunction(ring, keys, workers)

    explicit = dict(zip(keys.tolist(), workers.tolist(), strict=True))
    neighbours = [(word + step) % 2**64 for word in edges for step in (-1, 1)]
    more = np.array([unmixed(word, seed) for word in neighbours], np.uint64)
    asked = np.concatenate([keys, random.integers(0, 2**64, 100, np.uint64), more])
    found = function.lookup(asked)
    assert found.dtype == np.int32
    assert found.tolist() == [naive.lookup(explicit, twin, d) for d in asked.tolist()]
    assert dict(zip(function.keys.tolist(), function.workers.tolist(), strict=True)) == explicit


def test_many_tracked_keys_in_one_place_are_all_found():
    words = [5000 + step for step in range(300)]
    keys = np.array([unmixed(word, 0) for word in words], np.uint64)
    function = PartitionFunction(Ring(range(7)), keys, np.arange(300) % 7)

    assert function.lookup(keys).tolist() == [at % 7 for at in range(300)]


def test_without_tracked_keys_it_is_the_ring():
    keys = mix(np.arange(10_000, dtype=np.uint64))
    function = consistent_function(10, [1] * 9 + [3], points=20, seed=7)

    assert function.lookup(keys).tolist() == function.ring.lookup(keys).tolist()
    assert len(function) == 0


def test_it_is_looked_up_in_a_batch_of_any_length():
    function = consistent_function(3)
    keys = mix(np.arange(20_000, dtype=np.uint64))

    assert function.lookup(keys[:0]).tolist() == []
    assert function.lookup(keys.view(np.int64)).tolist() == [
        function.lookup(keys[at : at + 1])[0] for at in range(len(keys))
    ]


def test_over_another_ring_keys_stay_but_those_whose_worker_is_gone():
    keys = np.arange(6, dtype=np.uint64)
    function = PartitionFunction(Ring(range(3)), keys, np.arange(6) % 3)

    grown, shrunk = (function.carried_to(Ring(range(n))) for n in (4, 2))

    assert (grown.keys.tolist(), grown.workers.tolist()) == ([0, 1, 2, 3, 4, 5], [0, 1, 2, 0, 1, 2])
    assert (shrunk.keys.tolist(), shrunk.workers.tolist()) == ([0, 1, 3, 4], [0, 1, 0, 1])


def test_functions_are_equal_if_they_route_alike():
    def function(n=3, seed=0, keys=(1, 2), workers=(0, 1)):
        ring = Ring(range(n), seed=seed)
        return PartitionFunction(ring, np.array(keys, np.uint64), np.array(workers))

    assert function() == function(keys=(2, 1), workers=(1, 0))
    assert function() not in (
        function(n=4), function(seed=1), function(keys=(1, 3)), function(workers=(0, 2)), None
    )  # fmt: skip
    assert repr(function()) == "PartitionFunction(3 workers, 2 tracked keys)"


@pytest.mark.parametrize(
    ("keys", "workers", "error", "says"),
    [
        ([1, 2], [0], InvalidInputError, "1 values for 2 keys; pass one for each key"),
        ([1, 1], [0, 1], InvalidInputError, "a key twice"),
        ([1, 2], [0, 3], InvalidInputError, "is 3 for key 2; pass workers from 0 to 2"),
        ([1, 2], [-1, 0], InvalidInputError, "is -1 for key 1"),
        ([1.0], [0], InvalidTypeError, "64-bit key hashes"),
    ],
)
def test_what_maps_no_key_to_a_worker_is_refused(keys, workers, error, says):
    hashes = np.array(keys, np.uint64 if isinstance(keys[0], int) else np.float64)
    with pytest.raises(error, match=says):
        PartitionFunction(Ring(range(3)), hashes, np.array(workers))


def test_a_ring_with_gaps_between_workers_is_refused():
    with pytest.raises(InvalidInputError, match="number them 0 to n - 1"):
        PartitionFunction(Ring([0, 2]), np.empty(0, np.uint64), np.empty(0, int))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"n_workers": 0}, "at least 1"),
        ({"n_workers": 2, "capacities": [1, 0]}, "0 for worker 1"),
        ({"n_workers": 2, "capacities": [1, float("nan")]}, "nan for worker 1"),
        ({"n_workers": 2, "capacities": [-1, 1]}, "-1 for worker 0"),
        ({"n_workers": 2, "points": 0}, "at least 1"),
    ],
)
def test_workers_that_cannot_be_are_refused(arguments, says):
    with pytest.raises((InvalidParameterError, InvalidInputError), match=says):
        consistent_function(**arguments)
