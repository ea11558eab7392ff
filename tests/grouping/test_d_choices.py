import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import unskew
from tests.naive import groupings as naive
from tests.streams import loads, replicas, streams
from unskew.errors import InvalidParameterError
from unskew.grouping.base import first_turn
from unskew.grouping.head_choices import choices
from unskew.hashing import hash_keys


@given(
    stream=streams(),
    n=st.integers(2, 40),
    seed=st.integers(0, 2**64 - 1),
    source=st.integers(0, 100),
    theta=st.sampled_from([None, 0.05, 0.3]),
    distinct=st.booleans(),
)
def test_it_routes_as_its_twin(stream, n, seed, source, theta, distinct):
    grouping = unskew.grouping("d-choices", n, seed=seed, theta=theta, distinct=distinct)

    workers = grouping.build(source=source).route(*stream)

    twin = naive.DChoices(
        n, seed, grouping.threshold, grouping.counters, 1e-4, first_turn(source, n), distinct
    )
    assert workers.tolist() == twin.route(*stream.lists())


@given(stream=streams(), n=st.integers(3, 40))
def test_a_key_is_on_at_most_as_many_workers_as_the_largest_d_so_far(stream, n):
    router = unskew.grouping("d-choices", n).build()
    workers, most = [], 2
    for hashes in np.split(stream.hashes, len(stream.hashes)):
        workers.append(router.route(hashes))
        most = max(most, router.choices)

    assert replicas(stream.hashes, np.concatenate(workers)).max() <= most


@given(stream=streams(max_tuples=3000), n=st.integers(3, 60), distinct=st.booleans())
def test_d_is_what_the_solver_gives_from_scratch(stream, n, distinct):
    """Up to the revision that is due: within a look, shares move by 1 / n at most."""
    router = unskew.grouping("d-choices", n, distinct=distinct).build()
    at = 0
    for look in _looks(n, len(stream.hashes)):
        weights = None if stream.weights is None else stream.weights[at:look]
        router.route(stream.hashes[at:look], weights)
        at = look
        assume(router.sketch.total > 0)
        heavy = router.sketch.heavy(router.theta)
        shares = (heavy.counts / router.sketch.total).tolist()

        tail = max(0.0, 1 - sum(shares))
        expected = naive.solve(shares, tail, n, 1e-4, distinct)
        if router.choices != expected:  # only where rounding decides whether a prefix fits
            nearby = min(expected, router.choices)
            assert abs(naive.slack(shares, tail, n, 1e-4, distinct, nearby)) < 1e-9


def _looks(n, tuples):
    """Give after how many tuples d is solved anew."""
    look = 1
    while look <= tuples:
        yield look
        look += max(n, look // n)


def test_d_follows_a_head_that_grows():
    router = unskew.grouping("d-choices", 50).build()
    random = np.random.default_rng(0)

    router.route(random.integers(0, 2**64, 20_000, np.uint64))
    calm = router.choices
    router.route(np.full(20_000, 7, np.uint64))

    assert (calm, router.choices) == (2, choices([0.5], 50))


def test_d_follows_a_key_that_is_heavy_of_a_sudden():
    """Between two looks at all shares, one key may come to need more workers than d."""
    cold = hash_keys(np.arange(200_000))
    router = unskew.grouping("d-choices", 20).build()
    router.route(cold)

    workers = router.route(np.full(2200, 7, np.uint64), np.full(2200, 500.0))

    taken = router.snapshot().arrays["loads"]
    assert router.choices == 20
    assert taken.max() / taken.sum() - 1 / 20 <= router.grouping.epsilon
    assert replicas(np.zeros(2200), workers).tolist() == [20]


@pytest.mark.parametrize("distinct", ["no", 1, None])
def test_a_flag_that_is_no_flag_is_refused(distinct):
    with pytest.raises(InvalidParameterError, match=r"`distinct` is .*True or False"):
        unskew.grouping("d-choices", 10, distinct=distinct)


def test_from_d_of_n_on_it_is_w_choices():
    hashes = hash_keys(np.random.default_rng(0).choice(5, 2000, p=[0.9, 0.04, 0.03, 0.02, 0.01]))
    d_choices = unskew.grouping("d-choices", 10).build()
    first = d_choices.route(hashes[:1])
    assert d_choices.choices == 10

    rest = d_choices.route(hashes[1:])

    as_w = unskew.grouping("w-choices", 10).build().route(hashes)
    assert np.array_equal(np.concatenate([first, rest]), as_w)


@pytest.mark.parametrize("skew", [1.4, 2.0])
def test_imbalance_is_within_what_five_sources_tolerate(skew):
    random = np.random.default_rng(5)
    shares = 1 / np.arange(1, 10_001) ** skew
    hashes = hash_keys(random.choice(10_000, 500_000, p=shares / shares.sum()))
    grouping = unskew.grouping("d-choices", 10)

    taken = sum(loads(grouping.build(source=i).route(hashes[i::5].copy()), 10) for i in range(5))

    assert taken.max() / len(hashes) - 1 / 10 <= 5 * grouping.epsilon
