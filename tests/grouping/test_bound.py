"""What `bounded` and `porc` promise alike: no load above the bound, and their twins' routes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import bounded as naive
from tests.streams import loads, replicas, streams
from unskew.errors import InvalidParameterError
from unskew.grouping.bounded import BoundedLoads
from unskew.grouping.porc import PowerOfRandomChoices
from unskew.hashing.mix import mix
from unskew.testing import check_grouping

SCHEMES = [BoundedLoads, PowerOfRandomChoices]
TWINS = {BoundedLoads: naive.BoundedLoads, PowerOfRandomChoices: naive.PowerOfRandomChoices}
EPSILONS = st.sampled_from([1e-9, 0.01, 0.25, 1.0, 30.0])
SEEDS = st.integers(0, 2**64 - 1)


def levels_over_time(workers, n, weights=None, capacities=None):
    """Give load over capacity of each worker after each tuple, and the total so far."""
    costs = np.ones(len(workers)) if weights is None else weights
    placed = np.zeros((len(workers), n))
    placed[np.arange(len(workers)), workers] = costs
    speeds = np.ones(n) if capacities is None else np.array(capacities)
    return placed.cumsum(axis=0) / speeds, costs.cumsum()


@pytest.mark.parametrize("scheme", SCHEMES)
@given(stream=streams(), n=st.integers(2, 40), seed=SEEDS, epsilon=EPSILONS)
def test_it_routes_as_its_twin(scheme, stream, n, seed, epsilon):
    workers = scheme(n, seed, epsilon=epsilon).build().route(*stream)

    twin = TWINS[scheme](n, seed, epsilon=epsilon)
    assert workers.tolist() == twin.route(*stream.lists())


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("n", [3, 30])
def test_it_routes_as_its_twin_on_a_longer_stream(scheme, n):
    """Long enough for what is remembered of full workers to be used, outdated and displaced."""
    random = np.random.default_rng(0)
    hashes = mix(random.zipf(1.3, 4000).astype(np.uint64))
    for weights in (None, random.exponential(size=len(hashes))):
        workers = scheme(n).build().route(hashes, weights)

        twin = TWINS[scheme](n)
        costs = None if weights is None else weights.tolist()
        assert workers.tolist() == twin.route(hashes.tolist(), costs)


@pytest.mark.parametrize("scheme", SCHEMES)
@given(stream=streams(weighted=False), n=st.integers(2, 40), seed=SEEDS, epsilon=st.floats(1e-3, 5))
def test_no_load_is_ever_above_the_bound(scheme, stream, n, seed, epsilon):
    workers = scheme(n, seed, epsilon=epsilon).build().route(stream.hashes)

    reached, totals = levels_over_time(workers, n)
    bounds = [math.ceil((1 + epsilon) * total / n) for total in totals]
    assert (reached.max(axis=1) <= bounds).all()


@pytest.mark.parametrize("scheme", SCHEMES)
@given(stream=streams(weighted=True), n=st.integers(2, 40), seed=SEEDS, epsilon=st.floats(1e-3, 5))
def test_with_weights_none_is_above_by_more_than_the_largest(scheme, stream, n, seed, epsilon):
    workers = scheme(n, seed, epsilon=epsilon).build().route(*stream)

    reached, totals = levels_over_time(workers, n, stream.weights)
    largest = np.maximum.accumulate(stream.weights)
    assert (reached.max(axis=1) <= (1 + epsilon) * totals / n + largest + 1e-9).all()


@pytest.mark.parametrize("scheme", SCHEMES)
@given(stream=streams(weighted=False), n=st.integers(2, 20), epsilon=st.floats(1e-3, 1))
def test_the_imbalance_of_several_sources_is_bounded(scheme, stream, n, epsilon):
    sources, tuples = 5, len(stream.hashes)

    total = np.zeros(n)
    for source in range(sources):
        hashes = stream.hashes[source::sources]
        if len(hashes):
            total += loads(scheme(n, epsilon=epsilon).build(source=source).route(hashes), n)

    assert total.max() / tuples - 1 / n <= epsilon / n + sources / tuples + 1e-12


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("n", [2, 3, 100, 3000])
def test_the_laws_hold_on_typical_streams(scheme, n):
    check_grouping(scheme(n))


@pytest.mark.parametrize("scheme", SCHEMES)
@given(stream=streams(), n=st.integers(2, 40), cuts=st.lists(st.integers(0, 400), max_size=4))
def test_the_laws_hold_on_any_stream(scheme, stream, n, cuts):
    check_grouping(scheme(n, epsilon=0.1), stream.hashes, stream.weights, cuts)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_hot_key_alone_is_spread_evenly(scheme):
    workers = scheme(100).build().route(np.full(10_000, 42, np.uint64))

    assert loads(workers, 100).max() <= 101


@pytest.mark.parametrize("scheme", SCHEMES)
def test_with_a_wide_bound_no_key_is_split(scheme):
    hashes = mix(np.random.default_rng(0).zipf(1.5, 5000).astype(np.uint64))

    workers = scheme(10, epsilon=9.0).build().route(hashes)

    assert replicas(hashes, workers).max() == 1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tuples_that_weigh_nothing_stay_together(scheme):
    hashes = np.full(10, 42, np.uint64)

    workers = scheme(4).build().route(hashes, np.zeros(10))

    assert set(workers) == {workers[0]}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_router_that_is_put_back_forgets_what_it_knew_of_full_workers(scheme):
    hashes = mix(np.random.default_rng(0).zipf(1.3, 3000).astype(np.uint64))
    router = scheme(20).build()
    start = router.snapshot()
    first = router.route(hashes)

    router.restore(start.arrays)

    assert router.route(hashes).tolist() == first.tolist()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("epsilon", [0, 0.0, -0.1, float("nan"), float("inf"), "0.1", None, True])
def test_an_epsilon_that_is_not_above_zero_is_refused(scheme, epsilon):
    with pytest.raises(InvalidParameterError, match=r"`epsilon` is .*; expected a number above 0"):
        scheme(4, epsilon=epsilon)
