"""What every scheme with capacities that can be resized promises, and what the ring saves."""

import numpy as np
import pytest

import unskew
from tests.streams import loads, replicas
from unskew.errors import InvalidInputError, UnskewError
from unskew.grouping import CATALOG, Trait
from unskew.hashing.mix import mix

ELASTIC = [name for name, scheme in CATALOG.items() if Trait.ELASTIC in scheme.spec.traits]
RIGID = [name for name in CATALOG if name not in ELASTIC]
ALL = pytest.mark.parametrize("name", ELASTIC)

HASHES = mix(np.random.default_rng(0).zipf(1.5, 20_000).astype(np.uint64))


@ALL
@pytest.mark.parametrize("to", [2, 9, 11, 20])
def test_a_resize_routes_to_all_the_workers_there_are_and_to_no_other(name, to):
    router = unskew.grouping(name, 10).build()
    router.route(HASHES)

    resized = router.resize(to)

    assert resized.grouping == router.grouping.resize(to)
    assert set(resized.route(HASHES)) == set(range(to))
    assert resized.resize(10).grouping.n_workers == 10


@ALL
def test_a_resize_makes_another_router(name):
    router = unskew.grouping(name, 10).build()
    first = router.route(HASHES)
    kept, before = first.copy(), router.snapshot().to_bytes()

    router.resize(5).route(HASHES)

    assert router.snapshot().to_bytes() == before
    assert first.tolist() == kept.tolist()  # what was routed is not revised


@ALL
def test_a_resized_router_resumes(name):
    router = unskew.grouping(name, 10).build()
    router.route(HASHES)
    straight = router.resize(7)

    resumed = straight.grouping.build(straight.snapshot())

    assert resumed.route(HASHES).tolist() == straight.route(HASHES).tolist()


BAD_SIZES = [0, 1, -1, 2.0, "3", None, True, 2**31]
BAD_CAPACITIES = [[1, 0, 1], [1, -1, 1], [1, np.nan, 1], [1, np.inf, 1], [1, 1], [], "111", 3]


@ALL
@pytest.mark.parametrize("capacities", [None, (1.0, 2.0, 3.0)])
def test_a_resize_to_what_cannot_be_is_refused_and_changes_nothing(name, capacities):
    router = unskew.grouping(name, 3, capacities=capacities).build()
    router.route(HASHES)
    before = router.snapshot().to_bytes()

    for size in BAD_SIZES:
        with pytest.raises(UnskewError, match="`n_workers` is"):
            router.resize(size)
    for wrong in BAD_CAPACITIES:
        with pytest.raises(UnskewError, match="`capacities`"):
            router.resize(3, wrong)

    assert router.snapshot().to_bytes() == before


@ALL
def test_capacities_that_cannot_be_are_refused(name):
    for wrong in BAD_CAPACITIES:
        with pytest.raises(UnskewError, match="`capacities`"):
            unskew.grouping(name, 3, capacities=wrong)


@ALL
def test_workers_that_differ_stay_so_unless_said_otherwise(name):
    grouping = unskew.grouping(name, 3, capacities=[1, 2, 3])

    assert grouping.resize(2).capacities == (1.0, 2.0)
    assert grouping.resize(3, [3, 2, 1]).capacities == (3.0, 2.0, 1.0)
    assert grouping.resize(4, [1, 1, 1, 1]).capacities == (1.0,) * 4
    with pytest.raises(InvalidInputError, match="are known for 3 workers only; pass those of all"):
        grouping.resize(4)


@pytest.mark.parametrize("name", ["consistent", "bounded", "cg", "key-groups"])
def test_a_faster_worker_gets_more(name):
    keys = mix(np.arange(30_000, dtype=np.uint64))

    at = loads(unskew.grouping(name, 3, capacities=[1, 2, 5]).build().route(keys), 3)

    assert at / len(keys) == pytest.approx([1 / 8, 2 / 8, 5 / 8], rel=0.25)


@pytest.mark.parametrize("name", RIGID)
def test_who_takes_all_workers_for_alike_says_so(name):
    with pytest.raises(InvalidInputError, match=f"'{name}' takes all workers.*or take .*'bounded'"):
        unskew.grouping(name, 3, capacities=[1, 2, 3])


@pytest.mark.parametrize("to", [15, 17])
def test_a_resize_leaves_keys_where_they_are(to):
    """FISH fig. 17: low skew, a worker more or less half-way; without the ring nearly twice."""
    keys = mix(np.random.default_rng(1).integers(0, 3000, 60_000, np.uint64))
    halves = np.split(keys, 2)

    def grown(before, after, undisturbed):
        workers = np.concatenate([before.route(halves[0]), after(before).route(halves[1])])
        return replicas(keys, workers).mean() / replicas(keys, undisturbed.route(keys)).mean()

    def with_ring(name):
        grouping = unskew.grouping(name, 16)
        return grown(grouping.build(), lambda router: router.resize(to), grouping.build())

    without = grown(
        unskew.grouping("key", 16).build(),
        lambda _: unskew.grouping("key", to).build(),
        unskew.grouping("key", 16).build(),
    )
    assert without > 1.4
    for name in ("consistent", "bounded", "cg"):
        assert with_ring(name) < 1.15, name
    assert with_ring("key-groups") < 1.3  # Flux levels the workers on the occasion
