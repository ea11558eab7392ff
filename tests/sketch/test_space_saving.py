import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import space_saving as naive
from tests.sketch.dyadic import Stream, streams, zipf_stream
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    SnapshotMismatchError,
)
from unskew.sketch import SpaceSaving

CAPACITIES = st.integers(1, 8)
CUTS = st.lists(st.integers(0, 120), max_size=4)


def sketch_of(capacity, *parts):
    sketch = SpaceSaving(capacity)
    for part in parts:
        sketch.update(*part)
    return sketch


def twin_of(capacity, *parts):
    twin = naive.SpaceSaving(capacity)
    for part in parts:
        for key, weight in part.tuples():
            twin.update(key, weight)
    return twin


def slots(sketch):
    """The counters slot by slot, so that the order of ties shows."""
    arrays = sketch.snapshot()
    return [arrays[name].tolist() for name in ("keys", "counts", "errors", "total")]


def twin_slots(twin):
    return [twin.keys, twin.counts, twin.errors, [twin.total]]


def rows(counts):
    """Each key with its count and error."""
    keys, *numbers = (column.tolist() for column in counts)
    return dict(zip(keys, zip(*numbers, strict=True), strict=True))


def batches(stream, cuts):
    return stream.cut(*sorted(min(at, len(stream.hashes)) for at in cuts))


# --- the algorithm ---------------------------------------------------------------------------


@settings(max_examples=150)
@given(CAPACITIES, streams())
def test_it_equals_its_twin_slot_by_slot(capacity, stream):
    assert slots(sketch_of(capacity, stream)) == twin_slots(twin_of(capacity, stream))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("capacity", [1, 10, 64])
def test_it_equals_its_twin_on_a_long_stream(capacity, weighted):
    stream = zipf_stream(5_000, keys=500, weighted=weighted, seed=capacity)

    assert slots(sketch_of(capacity, stream)) == twin_slots(twin_of(capacity, stream))


def test_weights_that_round_are_added_in_the_order_of_the_tuples():
    # Thirds are no binary fractions: another order of additions would give other bits.
    stream = zipf_stream(3_000, keys=50)
    stream = Stream(stream.hashes, np.random.default_rng(1).integers(1, 9, 3_000) / 3)

    assert slots(sketch_of(7, stream)) == twin_slots(twin_of(7, stream))


def test_among_equal_counters_the_lowest_slot_is_taken_over():
    sketch = sketch_of(3, (np.array([1, 2, 3, 4, 5], np.uint64),))

    assert sketch.snapshot()["keys"].tolist() == [4, 5, 3]
    assert sketch.snapshot()["errors"].tolist() == [1.0, 1.0, 0.0]


def test_a_stream_may_change_from_whole_to_other_weights_and_back():
    stream = zipf_stream(3_000, keys=300)
    weights = np.ones(3_000)
    weights[1_000:2_000] = np.random.default_rng(2).integers(0, 9, 1_000) / 4
    parts = Stream(stream.hashes, weights).cut(1_000, 2_000)
    plain = [Stream(part.hashes, None) for part in parts]

    found = sketch_of(16, plain[0], parts[1], plain[2])

    assert slots(found) == twin_slots(twin_of(16, *parts))


# --- what it guarantees ----------------------------------------------------------------------


def check_guarantees(sketch, true):
    """Metwally et al.: all of it holds after every tuple, whatever the stream."""
    total = sum(true.values())
    held = rows(sketch.tracked())
    assert sketch.total == total
    for key, (count, error) in held.items():
        assert count >= true.get(key, 0.0)
        assert count - error <= true.get(key, 0.0)
        assert (count - true.get(key, 0.0)) * sketch.capacity <= total
        assert error * sketch.capacity <= total
    missed = {key: weight for key, weight in true.items() if key not in held}
    assert not [key for key, weight in missed.items() if weight * sketch.capacity > total]
    assert sum(count for count, _ in held.values()) <= total


@settings(max_examples=150)
@given(CAPACITIES, streams())
def test_counts_are_bounded_from_both_sides_and_no_heavy_key_is_missed(capacity, stream):
    sketch, true = sketch_of(capacity, stream), stream.true_weights()

    check_guarantees(sketch, true)
    assert sketch.tracked().counts.sum() == sum(true.values()), "every tuple is in some counter"


@pytest.mark.parametrize("weighted", [False, True])
def test_the_guarantees_hold_after_every_batch_of_a_long_stream(weighted):
    stream = zipf_stream(20_000, weighted=weighted)
    sketch, seen = SpaceSaving(40), []

    for part in stream.cut(*range(1_000, 20_000, 1_000)):
        sketch.update(*part)
        seen += part.tuples()
        true = {}
        for key, weight in seen:
            true[key] = true.get(key, 0.0) + weight
        check_guarantees(sketch, true)


def test_the_guarantees_hold_where_every_key_is_new():
    stream = Stream(np.arange(10_000, dtype=np.uint64), None)

    sketch = sketch_of(16, stream)

    check_guarantees(sketch, stream.true_weights())
    assert sketch.tracked().counts.tolist() == [625.0] * 16


@given(st.integers(2, 8), streams(), st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_no_key_of_the_head_is_missed(capacity, stream, part):
    theta = 1 / capacity + part * (1 - 1 / capacity) * 0.999  # the promise is for theta above it
    sketch = sketch_of(capacity, stream)
    reached = theta * sketch.total

    found = sketch.heavy(theta)

    head = {key for key, weight in stream.true_weights().items() if weight >= reached > 0}
    assert head <= set(found.keys.tolist())
    assert (found.counts >= reached).all()


@given(CAPACITIES, streams(), st.sampled_from([0.1, 0.25, 0.5]))
def test_the_heavy_keys_are_those_of_the_twin(capacity, stream, theta):
    found = sketch_of(capacity, stream).heavy(theta).keys.tolist()

    assert sorted(found) == sorted(twin_of(capacity, stream).heavy(theta))


@given(CAPACITIES, streams())
def test_what_is_tracked_comes_heaviest_first(capacity, stream):
    found = sketch_of(capacity, stream).tracked()

    order = [(-count, key) for key, (count, _) in rows(found).items()]
    assert order == sorted(order)


@given(CAPACITIES, streams())
def test_an_estimate_is_the_count_or_nothing(capacity, stream):
    sketch = sketch_of(capacity, stream)
    asked = np.unique(np.append(stream.hashes, np.arange(5, dtype=np.uint64)))

    held = rows(sketch.tracked())
    expected = [held.get(key, (0.0, 0.0))[0] for key in asked.tolist()]
    assert sketch.estimate(asked).tolist() == expected


# --- weight 0, sizes ---------------------------------------------------------------------------


def test_a_tuple_of_weight_zero_takes_no_counter():
    sketch = SpaceSaving(2)

    sketch.update(np.array([1, 2, 3], np.uint64), np.array([0.0, 1.0, 0.0]))

    assert rows(sketch.tracked()) == {2: (1.0, 0.0)}
    assert len(sketch) == 1


def test_nothing_counted_has_nothing_heavy():
    sketch = SpaceSaving(4)
    sketch.update(np.empty(0, np.uint64))

    assert sketch.heavy(0.5).keys.tolist() == []
    assert sketch.total == 0.0
    assert len(sketch) == 0


def test_memory_does_not_grow_with_the_number_of_keys():
    sketch = SpaceSaving(50)

    def arrays(held):
        return [a for each in held for a in (arrays(each) if isinstance(each, tuple) else [each])]

    before = arrays(sketch.summary)
    size = sum(array.nbytes for array in before)
    for start in range(0, 50_000, 10_000):
        sketch.update(np.arange(start, start + 10_000, dtype=np.uint64))
        sketch.update(np.arange(start, start + 10_000, dtype=np.uint64), np.full(10_000, 0.5))

    after = arrays(sketch.summary)
    assert all(a is b for a, b in zip(before, after, strict=True)), "the very arrays it began with"
    assert sum(array.nbytes for array in after) == size
    assert len(sketch) == 50


def test_it_shows_how_full_it_is():
    assert repr(sketch_of(4, (np.array([1, 1, 2], np.uint64),))) == (
        "SpaceSaving(2 of 4 counters, 3)"
    )


# --- batches and snapshots ---------------------------------------------------------------------


@given(CAPACITIES, streams(), CUTS)
def test_how_the_stream_is_cut_does_not_matter(capacity, stream, cuts):
    assert slots(sketch_of(capacity, *batches(stream, cuts))) == slots(sketch_of(capacity, stream))


@given(CAPACITIES, streams(), streams(), st.booleans())
def test_a_resumed_sketch_goes_on_as_if_nothing_had_happened(capacity, first, second, used):
    sketch = sketch_of(capacity, first)
    # Through pickle, as between processes; what comes back shares nothing with the original.
    snapshot = pickle.loads(pickle.dumps(sketch.snapshot()))
    resumed = sketch_of(capacity, second) if used else SpaceSaving(capacity)
    resumed.load(snapshot)
    sketch.update(*second)
    resumed.update(*second)

    assert slots(resumed) == slots(sketch)


def test_nothing_of_what_was_held_is_left_after_loading_a_smaller_snapshot():
    # Slots that the snapshot leaves free must begin at 0 again when they are filled.
    fuller = sketch_of(4, (np.array([1, 1, 1, 2, 2, 3, 4], np.uint64),))

    fuller.load(sketch_of(4, (np.array([9], np.uint64),)).snapshot())
    fuller.update(np.array([5, 6, 7, 8], np.uint64))

    assert rows(fuller.tracked()) == {5: (1, 0), 6: (1, 0), 7: (1, 0), 8: (2, 1)}
    assert fuller.estimate(np.array([1, 2, 3, 4], np.uint64)).tolist() == [0.0] * 4


def test_a_snapshot_does_not_follow_the_sketch():
    sketch = sketch_of(2, (np.array([1, 2], np.uint64),))
    snapshot = sketch.snapshot()

    sketch.update(np.array([1, 3, 3], np.uint64))

    assert snapshot["keys"].tolist() == [1, 2]
    assert snapshot["counts"].tolist() == [1.0, 1.0]
    assert snapshot["total"].tolist() == [2.0]


def test_a_loaded_snapshot_is_not_written_to():
    snapshot = sketch_of(2, (np.array([1, 2], np.uint64),)).snapshot()

    sketch = SpaceSaving(2)
    sketch.load(snapshot)
    sketch.update(np.array([3, 4, 5], np.uint64))

    assert snapshot["keys"].tolist() == [1, 2]


def with_array(name, change):
    """A damage: one array changed."""
    return lambda arrays: arrays | {name: change(arrays[name].copy())}


def without(name):
    """A damage: one array missing."""
    return lambda arrays: {key: array for key, array in arrays.items() if key != name}


def set_first(value):
    def change(array):
        array[0] = value
        return array

    return change


DAMAGES = {
    **{f"without {name}": without(name) for name in ("keys", "counts", "errors", "total")},
    "without capacity": without("capacity"),
    "with an array too many": lambda arrays: arrays | {"more": np.zeros(1)},
    "keys of another type": with_array("keys", lambda a: a.astype(np.int64)),
    "counts of another type": with_array("counts", lambda a: a.astype(np.float32)),
    "keys in two dimensions": with_array("keys", lambda a: a[None]),
    "fewer errors than keys": with_array("errors", lambda a: a[:-1]),
    "no total": with_array("total", lambda a: a[:0]),
    "no number of counters": with_array("capacity", lambda a: a[:0]),
    "another capacity": with_array("capacity", lambda a: a + 1),
    "more keys than counters": lambda arrays: arrays | {
        name: np.resize(arrays[name], 9) for name in ("keys", "counts", "errors")
    },
    # A NaN at the top of the heap is never up to date, and the search for the least never ends.
    "a count that is no number": with_array("counts", set_first(np.nan)),
    "an infinite count": with_array("counts", set_first(np.inf)),
    "a negative count": with_array("counts", set_first(-1.0)),
    "an error that is no number": with_array("errors", set_first(np.nan)),
    "a total that is no number": with_array("total", set_first(np.nan)),
    "a key held twice": with_array("keys", lambda a: np.full_like(a, a[0])),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_snapshot_is_refused_and_changes_nothing(damage):
    sketch = sketch_of(4, (np.array([1, 2, 2, 3], np.uint64),))
    before = slots(sketch)
    snapshot = sketch_of(4, (np.array([7, 8, 8, 9, 10], np.uint64),)).snapshot()

    with pytest.raises(SnapshotMismatchError):
        sketch.load(damage(snapshot))

    assert slots(sketch) == before
    sketch.update(np.array([1], np.uint64))
    assert sketch.estimate(np.array([1, 2, 7], np.uint64)).tolist() == [2.0, 2.0, 0.0]


# --- merging -----------------------------------------------------------------------------------


@settings(max_examples=150)
@given(CAPACITIES, streams(), streams(), streams())
def test_a_merge_equals_that_of_the_twins_and_goes_on_like_it(capacity, left, right, more):
    merged = sketch_of(capacity, left).merge(sketch_of(capacity, right))
    twin = naive.merge(twin_of(capacity, left), twin_of(capacity, right))
    assert slots(merged) == twin_slots(twin)

    merged.update(*more)
    for key, weight in more.tuples():
        twin.update(key, weight)
    assert slots(merged) == twin_slots(twin)


@given(CAPACITIES, st.lists(streams(max_tuples=40), min_size=1, max_size=6), streams())
def test_the_bounds_hold_for_merges_of_merges_and_what_comes_after(capacity, parts, more):
    merged = sketch_of(capacity, parts[0])
    for part in parts[1:]:
        merged = merged.merge(sketch_of(capacity, part))
    merged.update(*more)

    true = {}
    for part in (*parts, more):
        for key, weight in part.true_weights().items():
            true[key] = true.get(key, 0.0) + weight
    check_guarantees(merged, true)


def test_the_bounds_hold_for_a_tree_of_many_sources():
    sources = [zipf_stream(500, keys=300, seed=seed, weighted=seed % 2 == 1) for seed in range(64)]
    true = {}
    for source in sources:
        for key, weight in source.true_weights().items():
            true[key] = true.get(key, 0.0) + weight

    merged = [sketch_of(20, source) for source in sources]
    while len(merged) > 1:
        merged = [a.merge(b) for a, b in zip(merged[::2], merged[1::2], strict=True)]

    check_guarantees(merged[0], true)
    assert merged[0].total == sum(true.values())


@given(CAPACITIES, streams(), streams())
def test_a_merge_gives_the_same_whichever_comes_first(capacity, left, right):
    one, other = sketch_of(capacity, left), sketch_of(capacity, right)

    assert slots(one.merge(other)) == slots(other.merge(one))


@given(CAPACITIES, streams(), streams())
def test_a_merge_leaves_both_as_they_are(capacity, left, right):
    one, other = sketch_of(capacity, left), sketch_of(capacity, right)
    before = slots(one), slots(other)

    merged = one.merge(other)
    merged.update(*left)

    assert (slots(one), slots(other)) == before


@given(CAPACITIES, streams())
def test_merging_with_an_empty_sketch_changes_no_count(capacity, stream):
    sketch = sketch_of(capacity, stream)

    assert rows(sketch.merge(SpaceSaving(capacity)).tracked()) == rows(sketch.tracked())


def test_sketches_of_unequal_capacity_are_not_merged():
    with pytest.raises(InvalidInputError, match="has 3 counters, this sketch 2"):
        SpaceSaving(2).merge(SpaceSaving(3))


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("capacity", [0, -1])
def test_no_counters_are_refused(capacity):
    with pytest.raises(InvalidParameterError, match=f"`capacity` is {capacity};"):
        SpaceSaving(capacity)


@pytest.mark.parametrize("theta", [0, 1, 0.0, 1.0, -0.5, float("nan"), float("inf")])
def test_a_share_outside_0_to_1_is_refused(theta):
    with pytest.raises(InvalidParameterError, match=f"`theta` is {theta};"):
        SpaceSaving(2).heavy(theta)


@pytest.mark.parametrize(
    ("hashes", "weights", "error"),
    [
        ([1], None, InvalidTypeError),
        (np.ones(1), None, InvalidTypeError),
        (np.ones((2, 2), np.uint64), None, InvalidInputError),
        (np.ones(2, np.uint64), np.ones(1), InvalidInputError),
        (np.ones(2, np.uint64), np.array([1.0, np.nan]), InvalidInputError),
        (np.ones(2, np.uint64), np.array([1.0, -1.0]), InvalidInputError),
    ],
)
def test_bad_input_changes_nothing(hashes, weights, error):
    sketch = sketch_of(2, (np.array([1, 2, 3], np.uint64),))
    before = slots(sketch)

    with pytest.raises(error):
        sketch.update(hashes, weights)

    assert slots(sketch) == before
