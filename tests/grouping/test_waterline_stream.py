import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew
from tests.naive.mix import candidates, spread
from tests.streams import loads, streams
from unskew.grouping.waterline import Waterline
from unskew.grouping.waterline_stream import MIN_EPOCH
from unskew.hashing.mix import mix
from unskew.metrics import replication
from unskew.testing import check_grouping

SKEWED = mix(np.random.default_rng(0).zipf(1.4, 200_000).astype(np.uint64))


def twin(snapshot, grouping, hashes, weights):
    """Route within an epoch by the plan in a snapshot, one tuple after the other."""
    n, plan = grouping.n_workers, snapshot.arrays
    shares = grouping.shares.tolist()
    ends = np.minimum(np.cumsum(grouping.shares), 1.0) * 2.0**32
    begins = [0, *(int(end) << 32 for end in ends[:-1])]
    if grouping.capacities is None:
        begins = [-(-(worker << 32) // n) << 32 for worker in range(n)]
    pieces = {}
    for slot, key in enumerate(plan["plan.keys"].tolist()):
        begin, end = plan["plan.begins"][2 * slot : 2 * slot + 2]
        if begin < end:
            pieces[key] = [begin, end, 0]
    load, total, seen = plan["loads"].tolist(), plan["total"][0], int(plan["seen"][0])
    routes = []
    for key, weight in zip(hashes.tolist(), weights.tolist(), strict=True):
        mixed = spread(key, grouping.seed)
        first = max(worker for worker in range(n) if begins[worker] <= mixed)
        usual = candidates(key, n, grouping.seed, n)
        sequence = [(worker - usual[0] + first) % n for worker in usual]
        width = ([*begins, 1 << 64][first + 1]) - begins[first]
        if key in pieces:
            begin, end, turns = pieces[key]
            pieces[key][2] = turns = turns + 1
            at = turns * 0.6180339887498949 % 1.0 * plan["plan.ends"][end - 1]
            chosen = next(
                int(plan["plan.workers"][piece])
                for piece in range(begin, end)
                if at < plan["plan.ends"][piece] or piece == end - 1
            )
        elif float(mixed - begins[first]) < plan["plan.ebb"][first] * width:
            chosen = sequence[1]
        else:
            chosen = first
        total, seen = total + weight, seen + 1
        height = (1.0 + grouping.tolerance) * total * (1.0 + MIN_EPOCH / seen)
        chosen = next(
            (each for each in [chosen, *sequence] if load[each] < height * shares[each]), chosen
        )
        load[chosen] += weight
        routes.append(chosen)
    return routes


@settings(max_examples=8)
@given(
    n=st.integers(2, 12),
    skew=st.sampled_from([0.0, 0.8, 2.0]),
    keys=st.integers(1, 40),
    weighted=st.booleans(),
    uneven=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
)
def test_it_routes_as_its_twin(n, skew, keys, weighted, uneven, seed):
    random = np.random.default_rng(keys)
    shares = 1 / np.arange(1, keys + 1) ** skew
    ranks = random.choice(keys, size=MIN_EPOCH + 1500, p=shares / shares.sum())
    hashes = mix(ranks.astype(np.uint64))
    weights = random.exponential(size=len(ranks)) if weighted else np.ones(len(ranks))
    capacities = tuple(random.uniform(0.5, 2, n)) if uneven else None
    grouping = Waterline(n, seed=seed, capacities=capacities, lookahead=0)
    router = grouping.build()
    for part in (slice(0, 1500), slice(MIN_EPOCH, None)):
        before = router.snapshot()

        workers = router.route(hashes[part], weights[part])

        assert workers.tolist() == twin(before, grouping, hashes[part], weights[part])
        if part.start == 0:
            router.route(hashes[1500:MIN_EPOCH], weights[1500:MIN_EPOCH])


@settings(max_examples=10)
@given(stream=streams(), n_workers=st.integers(2, 40), tolerance=st.sampled_from([0.01, 0.5]))
def test_the_laws_hold_without_lookahead(stream, n_workers, tolerance):
    check_grouping(Waterline(n_workers, lookahead=0, tolerance=tolerance), *stream)


def test_the_laws_hold_across_the_end_of_an_epoch():
    hashes = SKEWED[: 2 * MIN_EPOCH + 500]

    check_grouping(Waterline(10, lookahead=0), hashes, cuts=(MIN_EPOCH - 1, MIN_EPOCH, 15_000))


@pytest.mark.parametrize("capacities", [None, (1.0, 3.0) * 5])
def test_no_worker_is_above_its_bound(capacities):
    grouping = Waterline(10, capacities=capacities, lookahead=0)

    workers = grouping.build().route(SKEWED)

    height = 1.01 * (len(SKEWED) + MIN_EPOCH)
    assert np.all(loads(workers, 10) <= np.ceil(height * grouping.shares))


def test_it_splits_far_less_than_w_choices():
    mine = Waterline(20, lookahead=0).build().route(SKEWED)
    theirs = unskew.grouping("w-choices", 20).build().route(SKEWED)

    extra = replication(SKEWED, mine) - 1
    assert extra < 0.25 * (replication(SKEWED, theirs) - 1)


def test_a_key_that_turns_hot_inside_an_epoch_overflows():
    router = Waterline(10, lookahead=0).build()
    router.route(SKEWED[: 10 * MIN_EPOCH])

    workers = router.route(np.full(MIN_EPOCH, 7, np.uint64))

    assert len(set(workers)) > 1


def test_a_resized_router_starts_over():
    router = Waterline(10, lookahead=0).build(source=3)
    router.route(SKEWED)

    larger = router.resize(12)

    assert (
        larger.route(SKEWED).tolist() == Waterline(12, lookahead=0).build().route(SKEWED).tolist()
    )
