import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unskew
from tests.naive import waterline as naive
from tests.streams import loads, replicas, streams
from unskew.errors import InvalidParameterError
from unskew.grouping.key import KeyGrouping
from unskew.grouping.waterline import Waterline
from unskew.grouping.waterline_plan import HEAD
from unskew.hashing.mix import mix
from unskew.metrics import replication
from unskew.testing import check_grouping

SKEWED = mix(np.random.default_rng(0).zipf(1.3, 60_000).astype(np.uint64))
EVEN = mix(np.random.default_rng(1).integers(0, 5000, 60_000).astype(np.uint64))


@st.composite
def speeds(draw, n):
    kind = draw(st.sampled_from(["alike", "two kinds", "any"]), label="speeds")
    if kind == "alike":
        return None
    one = st.sampled_from([1.0, 5.0]) if kind == "two kinds" else st.floats(0.1, 10)
    return tuple(draw(st.lists(one, min_size=n, max_size=n), label="capacities"))


@st.composite
def groupings(draw, max_workers=30):
    n = draw(st.integers(2, max_workers), label="n")
    return Waterline(
        n,
        seed=draw(st.integers(0, 2**64 - 1), label="seed"),
        capacities=draw(speeds(n)),
        lookahead=draw(st.sampled_from([1, 100, 1000]), label="lookahead"),
        tolerance=draw(st.sampled_from([1e-9, 0.01, 0.2]), label="tolerance"),
    )


def blocks(grouping, *columns):
    """Cut what belongs to the tuples of one call into its blocks."""
    for at in range(0, len(columns[0]), grouping.block):
        yield tuple(None if c is None else c[at : at + grouping.block] for c in columns)


@given(
    stream=streams(max_tuples=2500, weighted=False), grouping=groupings(), source=st.integers(0, 99)
)
def test_it_routes_as_its_twin(stream, grouping, source):
    workers = grouping.build(source=source).route(stream.hashes)

    g = grouping
    twin = naive.Waterline(g.n_workers, g.seed, g.capacities, g.block, g.tolerance, source)
    assert workers.tolist() == twin.route(stream.hashes.tolist())


def test_it_routes_as_its_twin_where_tail_keys_make_room_beside_a_head():
    random = np.random.default_rng(2)
    # Ten keys of half a level each, and tail keys that fill some workers above theirs.
    warm = random.random(8_000) < 0.25
    ranks = np.where(warm, random.integers(0, 10, 8_000), random.integers(10, 310, 8_000))
    hashes = mix(ranks.astype(np.uint64))
    grouping = Waterline(20, lookahead=4_000)

    workers = grouping.build().route(hashes)

    assert workers.tolist() == naive.Waterline(20, block=4_000).route(hashes.tolist())


@given(stream=streams(max_tuples=600, weighted=False), grouping=groupings(12), data=st.data())
def test_it_routes_whole_weights_as_its_twin(stream, grouping, data):
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    # A power of two, so that no sum and no product is rounded.
    weights = 2.0 ** random.integers(0, 4, len(stream.hashes))

    workers = grouping.build().route(stream.hashes, weights)

    g = grouping
    twin = naive.Waterline(g.n_workers, g.seed, g.capacities, g.block, g.tolerance)
    assert workers.tolist() == twin.route(stream.hashes.tolist(), weights.tolist())


@given(stream=streams(max_tuples=3000, weighted=False), grouping=groupings())
def test_no_worker_is_above_the_limit_in_any_block(stream, grouping):
    workers = grouping.build(source=3).route(stream.hashes)

    for (part,) in blocks(grouping, workers):
        levels = len(part) * grouping.shares
        limits = np.maximum(np.ceil(levels - 1e-6), levels * (1 + grouping.tolerance) + 1e-6)
        assert np.all(loads(part, grouping.n_workers) <= limits)


@given(stream=streams(max_tuples=3000), grouping=groupings())
def test_a_block_has_at_most_a_replica_less_a_worker_more_than_keys(stream, grouping):
    workers = grouping.build().route(*stream)

    for hashes, part in blocks(grouping, stream.hashes, workers):
        on = replicas(hashes, part)
        assert on.sum() <= len(on) + grouping.n_workers - 1


@given(stream=streams(max_tuples=3000, weighted=True), grouping=groupings())
def test_weights_are_even_but_for_a_tuple_of_each_shared_key(stream, grouping):
    workers = grouping.build().route(*stream)

    for hashes, weights, part in blocks(grouping, *stream, workers):
        if not weights.sum():
            continue
        levels = weights.sum() * grouping.shares
        limits = np.maximum(levels * (1 + grouping.tolerance), levels + weights.mean())
        _, keys = np.unique(hashes, return_inverse=True)
        heavy = np.bincount(keys, weights)[keys] > HEAD * levels.min()
        pairs = np.unique(np.stack([keys[heavy], part[heavy]]), axis=1)
        # A key cut at both ends takes half a tuple too much at each, at most; the sweep at the end
        # may cut two keys more for a worker.
        cut = np.bincount(pairs[1], minlength=grouping.n_workers) + 2
        given_ = loads(part, grouping.n_workers, weights)
        assert np.all(given_ <= limits + cut * weights.max() + 1e-6)


@settings(max_examples=20)
@given(stream=streams(), grouping=groupings())
def test_the_laws_hold_for_blocks_of_any_size(stream, grouping):
    check_grouping(grouping, *stream)


def test_tail_keys_move_where_no_key_is_hot():
    grouping = Waterline(20, lookahead=20_000)

    workers = grouping.build().route(EVEN)

    for (part,) in blocks(grouping, workers):
        assert loads(part, 20).max() <= 1010
    assert replication(EVEN, workers) < 1.1
    by_key = KeyGrouping(20).build().route(EVEN)
    assert loads(by_key, 20).max() > 1.1 * 3000, "else nothing had to move"
    assert np.mean(workers == by_key) > 0.9


def test_sources_move_the_same_keys():
    """A key that left its F_1 on one source alone would have a replica more."""
    grouping = Waterline(20, lookahead=20_000)
    workers = np.concatenate([grouping.build(source=s).route(EVEN[s::3].copy()) for s in range(3)])
    hashes = np.concatenate([EVEN[s::3] for s in range(3)])

    assert replication(hashes, workers) < 1.12


def test_replicas_do_not_pile_up_over_the_blocks():
    grouping = Waterline(20, lookahead=6_000)
    workers = grouping.build().route(SKEWED)

    keys = len(np.unique(SKEWED))
    first = replicas(SKEWED[:6_000], workers[:6_000])
    extra_of_one_block = first.sum() - len(first)
    extra_of_ten = replicas(SKEWED, workers).sum() - keys
    assert extra_of_one_block >= 15
    assert extra_of_ten <= 3 * extra_of_one_block


def test_a_head_key_takes_turns_on_its_workers():
    """No worker waits for the end of the block."""
    workers = Waterline(10).build().route(np.full(60_000, 42, np.uint64))

    for part in np.split(workers, 30):
        assert loads(part, 10).max() <= 250


def test_many_short_tasks_do_not_pile_up_on_the_candidates_of_one_key():
    grouping = unskew.grouping("waterline", 100)

    workers = [grouping.build(source=s).route(np.full(10, 42, np.uint64)) for s in range(1000)]

    assert max(loads(each, 100).max() for each in workers) == 1
    assert loads(np.concatenate(workers), 100).max() <= 110


def test_many_short_blocks_of_one_source_do_not_pile_up_either():
    router = unskew.grouping("waterline", 100).build()

    workers = np.concatenate([router.route(np.full(10, 42, np.uint64)) for _ in range(1000)])

    assert loads(workers, 100).max() <= 110


def test_what_f_1_usually_gives_fades_with_the_tuples_that_come_after():
    router = Waterline(20, lookahead=5_000).build()
    twin = naive.Waterline(20, block=5_000)
    for part in (EVEN[:5_000], EVEN[5_000:5_100], EVEN[6_000:8_000]):
        router.route(part)
        twin.route(part.tolist())

    remembered = router.snapshot().arrays
    assert remembered["usual"] == pytest.approx(twin.usual)
    assert remembered["faded"] == pytest.approx(twin.faded)


def test_faster_workers_get_more_at_no_more_replicas():
    capacities = (1.0, 10.0) * 10
    grouping = Waterline(20, capacities=capacities, lookahead=20_000)

    workers = grouping.build().route(SKEWED)

    for (part,) in blocks(grouping, workers):
        times = loads(part, 20) / (len(part) * grouping.shares)
        assert times.max() <= 1.02
    assert replication(SKEWED, workers) < 1.05


def test_weights_that_are_all_zero_leave_keys_where_they_are():
    workers = Waterline(7).build().route(SKEWED[:100], np.zeros(100))

    assert workers.tolist() == KeyGrouping(7).build().route(SKEWED[:100]).tolist()


@pytest.mark.parametrize(
    ("n", "lookahead", "block"),
    [(10, 1, 640), (10, 1 << 16, 1 << 16), (2000, 1 << 16, 128_000), (1 << 20, 1, 1 << 20)],
)
def test_a_block_has_rows_for_every_worker(n, lookahead, block):
    assert Waterline(n, lookahead=lookahead).block == block


def test_a_resized_router_goes_on_with_other_workers():
    router = Waterline(10).build(source=4)
    router.route(SKEWED)

    larger = router.resize(12)

    workers = larger.route(SKEWED)
    assert set(workers) == set(range(12))
    assert loads(workers, 12).max() <= 1.01 * 5000
    assert larger.resize(10, [2.0] * 5 + [1.0] * 5).grouping.capacities == (2.0,) * 5 + (1.0,) * 5
    assert larger.snapshot().arrays["blocks"] == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lookahead": -1}, "`lookahead` is -1"),
        ({"lookahead": 2**20 + 1}, "at most 1048576"),
        ({"tolerance": 0.0}, "`tolerance` is 0.0"),
        ({"tolerance": 1}, "`tolerance` is 1"),
        ({"n_workers": 2**20 + 1}, "`n_workers` is 1048577; expected at most 1048576"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(InvalidParameterError, match=message):
        dataclasses.replace(Waterline(4), **settings)
