"""What `porc` adds to a bound: each key looks at workers in an order of its own."""

import numpy as np

from tests.streams import replicas
from unskew.grouping.bounded import BoundedLoads
from unskew.grouping.key import KeyGrouping
from unskew.grouping.porc import PowerOfRandomChoices
from unskew.hashing import candidate
from unskew.hashing.mix import mix

HASHES = mix(np.random.default_rng(0).zipf(1.2, 50_000).astype(np.uint64))


def test_a_hot_key_fills_its_candidates_in_order():
    key = np.array([42], np.uint64)
    order = [candidate(key, i, seed=0, n=8)[0] for i in range(8)]

    # Twice the average is a quarter of all, so four of eight workers suffice.
    workers = PowerOfRandomChoices(8, epsilon=1.0).build().route(np.full(80, 42, np.uint64))

    assert [worker for worker in order if worker in workers] == order[: len(set(workers))]
    assert 4 <= len(set(workers)) <= 5


def test_under_a_wide_bound_it_is_key_grouping():
    workers = PowerOfRandomChoices(10, epsilon=9.0).build().route(HASHES)

    assert workers.tolist() == KeyGrouping(10).build().route(HASHES).tolist()


def test_a_wider_bound_splits_less():
    """CG fig. 5: epsilon trades imbalance for memory."""
    replication = [
        replicas(HASHES, PowerOfRandomChoices(20, epsilon=epsilon).build().route(HASHES)).mean()
        for epsilon in (0.01, 0.1, 1.0, 10.0)
    ]

    assert replication == sorted(replication, reverse=True)


def test_it_splits_less_than_one_neighbour_for_all():
    """CG sec. 7.2, Q2: on the ring those who overflow meet at the next worker."""
    porc = PowerOfRandomChoices(50).build().route(HASHES)
    ring = BoundedLoads(50, points=1).build().route(HASHES)

    assert replicas(HASHES, porc).mean() < replicas(HASHES, ring).mean()


def test_more_keys_than_places_are_routed_all_the_same():
    """Keys that share a place displace one another; small batches change nothing about it."""
    hashes = mix(np.arange(2000, dtype=np.uint64) % np.uint64(97))

    whole = PowerOfRandomChoices(3, epsilon=1e-6).build().route(hashes)

    router = PowerOfRandomChoices(3, epsilon=1e-6).build()
    assert [int(router.route(hashes[i : i + 1])[0]) for i in range(2000)] == whole.tolist()
