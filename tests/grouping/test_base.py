import numpy as np
import pytest

import unskew
from unskew.errors import InvalidInputError, InvalidParameterError, InvalidTypeError, UnskewError
from unskew.grouping.base import first_turn

ALL = pytest.mark.parametrize("name", unskew.groupings())
HASHES = np.arange(5, dtype=np.uint64)


@ALL
@pytest.mark.parametrize("n_workers", [0, 1, -3, 2**31])
def test_too_few_or_too_many_workers_are_refused(name, n_workers):
    with pytest.raises(InvalidParameterError, match=rf"`n_workers` is {n_workers}; expected at"):
        unskew.grouping(name, n_workers)


@ALL
@pytest.mark.parametrize("n_workers", [2.0, "10", None, True])
def test_a_number_of_workers_that_is_not_whole_is_refused(name, n_workers):
    with pytest.raises(InvalidParameterError, match=r"`n_workers` is .*a whole number"):
        unskew.grouping(name, n_workers)


@ALL
@pytest.mark.parametrize("seed", [-1, 2**64, 0.5])
def test_a_seed_that_is_no_64_bit_number_is_refused(name, seed):
    with pytest.raises(InvalidParameterError, match="`seed` is"):
        unskew.grouping(name, 10, seed=seed)


@ALL
@pytest.mark.parametrize("source", [-1, 1.0, 2**63])
def test_a_source_that_is_no_number_of_a_source_is_refused(name, source):
    with pytest.raises(InvalidParameterError, match="`source` is"):
        unskew.grouping(name, 10).build(source=source)


BAD_INPUT = {
    "float hashes": (HASHES.astype(float), None, InvalidTypeError, "array of float64.*hash_keys"),
    "narrow hashes": (HASHES.astype(np.int32), None, InvalidTypeError, "array of int32"),
    "a list": ([1, 2], None, InvalidTypeError, "`hashes` is a list; pass a 1-D NumPy array"),
    "2-D hashes": (HASHES[np.newaxis], None, InvalidInputError, "`hashes` has 2 dimensions"),
    "no tuple": (HASHES[:0], None, InvalidInputError, "`hashes` is empty; pass at least one"),
    "NaN": (HASHES, np.array([1, 1, np.nan, 1, 1]), InvalidInputError, "is nan at position 2"),
    "too heavy": (HASHES, np.full(5, 1e201), InvalidInputError, "pass numbers from 0 to 1e\\+200"),
    "inf": (HASHES, np.array([1, 1, 1, 1, np.inf]), InvalidInputError, "is inf at position 4"),
    "negative": (HASHES, np.array([1, -2, 1, 1, 1]), InvalidInputError, "is -2.0 at position 1"),
    "2-D weights": (HASHES, np.ones((5, 1)), InvalidInputError, "`weights` has 2 dimensions"),
    "too few": (HASHES, np.ones(4), InvalidInputError, "has 4 values for 5 tuples"),
    "text": (HASHES, np.full(5, "1"), InvalidTypeError, "`weights` is an array of <U1"),
    "weights list": (HASHES, [1] * 5, InvalidTypeError, "`weights` is a list"),
}


@ALL
@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_refused_and_changes_nothing(name, case):
    hashes, weights, error, message = BAD_INPUT[case]
    router = unskew.grouping(name, 10).build()
    router.route(HASHES)
    before = router.snapshot().to_bytes()

    with pytest.raises(error, match=message) as caught:
        router.route(hashes, weights)

    assert isinstance(caught.value, UnskewError)
    assert router.snapshot().to_bytes() == before


BAD_TIMES = {
    "NaN": (np.array([0, 1, 2, 3, np.nan]), InvalidInputError, "`times` is nan at position 4"),
    "negative": (-1.0, InvalidInputError, "`times` is -1.0 at position 0"),
    "too few": (np.ones(4), InvalidInputError, "`times` has 4 values for 5 tuples"),
    "a list": ([0] * 5, InvalidTypeError, "`times` is a list"),
    "dates": (np.zeros(5, "M8[s]"), InvalidTypeError, "pass seconds as numbers"),
}


@ALL
@pytest.mark.parametrize("case", BAD_TIMES)
def test_bad_times_are_refused_and_change_nothing(name, case):
    times, error, message = BAD_TIMES[case]
    router = unskew.grouping(name, 10).build()
    router.route(HASHES, times=0.0)
    before = router.snapshot().to_bytes()

    with pytest.raises(error, match=message):
        router.route(HASHES, times=times)

    assert router.snapshot().to_bytes() == before


@ALL
def test_one_time_for_all_is_the_same_as_that_time_for_each(name):
    hashes = np.random.default_rng(0).integers(0, 50, 1000, np.uint64)
    at_once, each = (unskew.grouping(name, 10).build() for _ in range(2))
    for now in (0.0, 20.0, 40.0):
        expected = at_once.route(hashes, times=now)
        assert np.array_equal(each.route(hashes, times=np.full(1000, now)), expected)


@ALL
def test_signed_hashes_are_taken_bit_for_bit(name):
    hashes = np.random.default_rng(0).integers(0, 2**64, 1000, np.uint64)
    grouping = unskew.grouping(name, 10)

    signed = grouping.build().route(hashes.view(np.int64))

    assert np.array_equal(signed, grouping.build().route(hashes))


@ALL
def test_numpy_numbers_do_as_settings(name):
    given = unskew.grouping(name, np.int64(10), seed=np.uint8(5))

    assert given == unskew.grouping(name, 10, seed=5)
    assert given.build(source=np.int32(3)).snapshot().to_bytes()


@ALL
def test_big_endian_hashes_are_the_same_hashes(name):
    hashes = np.random.default_rng(0).integers(0, 2**64, 1000, np.uint64)
    grouping = unskew.grouping(name, 10)

    swapped = grouping.build().route(hashes.astype(">u8"))

    assert np.array_equal(swapped, grouping.build().route(hashes))


@pytest.mark.parametrize("name", ["shuffle", "round-robin", "w-choices"])
def test_sources_that_resume_from_one_snapshot_are_still_spread(name):
    """The driver merges what the sources send up, and hands all of them the same."""
    grouping = unskew.grouping(name, 16)
    hot = np.zeros(1, np.uint64)
    router = grouping.build()
    router.route(np.repeat(hot, 160))
    snapshot = router.snapshot()

    starts = {int(grouping.build(snapshot, source).route(hot)[0]) for source in range(16)}

    assert len(starts) >= 12


@ALL
def test_a_grouping_is_frozen(name):
    with pytest.raises(AttributeError):
        unskew.grouping(name, 10).n_workers = 11


def test_any_number_of_sources_starts_well_spread():
    for n in (2, 10, 100):
        starts = np.bincount([first_turn(source, n) for source in range(50 * n)], minlength=n)
        assert np.ptp(starts) <= 10
