"""Each law is broken once, and the suite must notice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from unskew.errors import BrokenLawError, InvalidInputError
from unskew.grouping.base import Grouping, GroupingSpec, Router, Trait
from unskew.hashing.mix import mix
from unskew.testing import check_grouping

ORDERED = Trait.SPLITS_KEYS | Trait.ORDER_DEPENDENT


def broken(route, traits=ORDERED, state=None, router_class=None):
    """Make a grouping that routes by ``route(router, hashes, weights, n)``."""

    class Broken(router_class or Router):
        def _route(self, hashes, weights):
            return route(self, hashes, weights, self.grouping.n_workers)

    @dataclass(frozen=True, slots=True)
    class BrokenGrouping(Grouping):
        spec: ClassVar[GroupingSpec] = GroupingSpec("broken", "-", traits)

        def _start(self, source):
            router = Broken(self, {name: array.copy() for name, array in (state or {}).items()})
            router.source = source
            return router

        def __reduce__(self):
            # A class made in a function does not pickle; the one registered here does.
            return _again, (self.n_workers,)

    _again.grouping = BrokenGrouping
    return BrokenGrouping(10)


def _again(n_workers):
    return _again.grouping(n_workers)


def by_hash(hashes, n):
    return (hashes % np.uint64(n)).astype(np.int32)


def in_turn(router, hashes, _weights, n):
    turn = router._state["turn"]
    workers = (np.arange(len(hashes)) + turn[0]) % n
    turn[0] += len(hashes)
    return workers.astype(np.int32)


TURN = {"turn": np.zeros(1, np.int64)}


def test_a_right_grouping_passes():
    check_grouping(broken(in_turn, state=TURN))
    check_grouping(broken(lambda _r, h, _w, n: by_hash(h, n), Trait.NONE))


def expect(law, grouping, **arguments):
    with pytest.raises(BrokenLawError, match=f"the law of {law}:") as caught:
        check_grouping(grouping, **arguments)
    return str(caught.value)


def test_a_worker_outside_the_range_breaks_conservation():
    message = expect("conservation", broken(lambda _r, h, _w, n: by_hash(h, n) + np.int32(1)))
    assert "worker [10]" in message


def test_a_negative_worker_breaks_conservation():
    expect("conservation", broken(lambda _r, h, _w, n: by_hash(h, n) - np.int32(1)))


def test_a_worker_outside_the_range_on_one_source_alone_breaks_conservation():
    expect("conservation", broken(lambda r, h, _w, n: by_hash(h, n) + np.int32(10 * r.source)))


def test_a_lost_tuple_breaks_conservation():
    expect("conservation", broken(lambda _r, h, _w, n: by_hash(h, n)[:-1]))


def test_wide_worker_numbers_break_conservation():
    expect("conservation", broken(lambda _r, h, _w, n: by_hash(h, n).astype(np.int64)))


def test_a_split_that_is_not_declared_breaks_safe_splits():
    expect("safe splits", broken(in_turn, Trait.ORDER_DEPENDENT, TURN))


def test_sources_that_disagree_break_safe_splits():
    message = expect(
        "safe splits",
        broken(lambda r, h, _w, n: by_hash(h + np.uint64(r.source), n), Trait.NONE),
    )
    assert "two sources" in message


def test_a_dependence_on_order_that_is_not_declared_breaks_safe_splits():
    message = expect("safe splits", broken(in_turn, Trait.SPLITS_KEYS, TURN))
    assert "order" in message


def test_chance_breaks_determinism():
    random = np.random.default_rng(0)
    expect(
        "determinism",
        broken(lambda _r, h, _w, n: random.integers(0, n, len(h)).astype(np.int32)),
    )


def test_a_route_that_depends_on_the_batch_breaks_batching():
    expect(
        "batching",
        broken(lambda _r, h, _w, n: ((by_hash(h, n) + len(h)) % n).astype(np.int32)),
    )


def looking_ahead(route, **arguments):
    """Make a grouping that says it decides 700 tuples together."""

    @dataclass(frozen=True, slots=True)
    class Ahead(type(broken(route, **arguments))):
        @property
        def block(self):
            return 700

    _again.grouping = Ahead
    return Ahead(10)


def by_most_in_block(_router, hashes, _weights, n):
    out = np.empty(len(hashes), np.int32)
    for at in range(0, len(hashes), 700):
        keys, counts = np.unique(hashes[at : at + 700], return_counts=True)
        out[at : at + 700] = keys[counts.argmax()] % np.uint64(n)
    return out


def test_a_scheme_that_looks_ahead_may_decide_block_by_block():
    check_grouping(looking_ahead(by_most_in_block))
    expect("batching", broken(by_most_in_block))


def test_a_route_that_depends_on_the_batch_beyond_its_block_breaks_batching():
    expect(
        "batching",
        looking_ahead(lambda _r, h, _w, n: ((by_hash(h, n) + len(h) // 700) % n).astype(np.int32)),
    )


class Forgetful(Router):
    """Counts its tuples beside the state, where no snapshot carries them."""

    source = 0
    seen = 0


def forgetting(router, hashes, _weights, n):
    workers = (np.arange(len(hashes)) + router.seen) % n
    router.seen += len(hashes)
    return workers.astype(np.int32)


def test_state_outside_the_snapshot_breaks_resumption():
    expect("resumption", broken(forgetting, router_class=Forgetful))


def test_a_snapshot_that_changes_on_the_way_breaks_resumption():
    class Drifting(Router):
        def restore(self, arrays):
            super().restore(arrays)
            self._state["turn"][0] += 10

    expect("resumption", broken(in_turn, state=TURN, router_class=Drifting))


def test_a_source_that_heeds_its_neighbour_breaks_locality():
    batches_of_neighbour = [0]

    def disturbed(router, hashes, _weights, n):
        batches_of_neighbour[0] += router.source == 1
        moved = batches_of_neighbour[0] if router.source == 0 else 0
        return ((by_hash(hashes, n) + moved) % n).astype(np.int32)

    expect("locality", broken(disturbed))


def test_memory_that_grows_with_keys_breaks_bounded_memory():
    def hoard(router, hashes, _weights, n):
        router.known = np.union1d(getattr(router, "known", hashes), hashes)
        return by_hash(hashes, n)

    expect("bounded memory", broken(hoard))


def test_a_snapshot_that_grows_with_keys_breaks_bounded_memory():
    class Hoarder(Router):
        def restore(self, arrays):
            self._state = {name: array.copy() for name, array in arrays.items()}

    def hoard(router, hashes, _weights, n):
        router._state["known"] = np.union1d(router._state["known"], hashes)
        return by_hash(hashes, n)

    expect(
        "bounded memory",
        broken(hoard, state={"known": np.empty(0, np.uint64)}, router_class=Hoarder),
    )


def test_bad_input_that_is_routed_breaks_refusal():
    class Careless(Router):
        def route(self, hashes, weights=None):
            return self._route(np.asarray(hashes).ravel().astype(np.uint64), weights)

    expect("refusal", broken(lambda _r, h, _w, n: by_hash(h, n), router_class=Careless))


def test_a_refused_call_that_leaves_a_mark_breaks_refusal():
    class Hasty(Router):
        def route(self, hashes, weights=None):
            self._state["calls"][0] += 1
            return super().route(hashes, weights)

    message = expect(
        "refusal",
        broken(
            lambda _r, h, _w, n: by_hash(h, n),
            state={"calls": np.zeros(1, np.int64)},
            router_class=Hasty,
        ),
    )
    assert "changed the state" in message


def test_more_workers_a_key_than_said_break_safe_splits():
    @dataclass(frozen=True, slots=True)
    class Modest(type(broken(in_turn, state=TURN))):
        @property
        def workers_per_key(self):
            return 2

    message = expect("safe splits", Modest(10))
    assert "workers_per_key says 2" in message


def test_a_stream_of_ones_own_is_used():
    def fails_on_seven(router, hashes, _weights, n):
        return np.where(hashes == 7, n, 0).astype(np.int32)

    check_grouping(broken(fails_on_seven), mix(np.arange(100, dtype=np.uint64)))
    expect("conservation", broken(fails_on_seven), hashes=np.array([7], np.uint64))


def test_an_empty_stream_proves_nothing_and_is_refused():
    with pytest.raises(InvalidInputError, match="`hashes` is empty"):
        check_grouping(broken(in_turn, state=TURN), np.empty(0, np.uint64))
