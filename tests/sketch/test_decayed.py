import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import decayed as naive
from tests.sketch.dyadic import Stream, streams, zipf_stream
from unskew.errors import (
    InvalidInputError,
    InvalidParameterError,
    SnapshotMismatchError,
    UnskewError,
)
from unskew.sketch import DecayedSpaceSaving, SpaceSaving

CAPACITIES = st.integers(1, 8)
EPOCHS = st.integers(1, 30)
DECAYS = st.sampled_from([0.2, 0.5, 0.9])
CUTS = st.lists(st.integers(0, 120), max_size=4)


def sketch_of(settings, *parts):
    sketch = DecayedSpaceSaving(*settings)
    for part in parts:
        sketch.update(*part)
    return sketch


def twin_of(settings, *parts):
    twin = naive.DecayedSpaceSaving(*settings)
    for part in parts:
        for key, weight in part.tuples():
            twin.update(key, weight)
    return twin


def slots(sketch):
    arrays = sketch.snapshot()
    return [arrays[name].tolist() for name in ("keys", "counts", "errors", "total", "position")]


def twin_slots(twin):
    return [twin.keys, twin.counts, twin.errors, [twin.total], [twin.counter]]


def keys(*values):
    return np.array(values, np.uint64)


@settings(max_examples=150)
@given(st.tuples(CAPACITIES, EPOCHS, DECAYS), streams())
def test_it_equals_its_twin_slot_by_slot(settings, stream):
    assert slots(sketch_of(settings, stream)) == twin_slots(twin_of(settings, stream))


@pytest.mark.parametrize("weighted", [False, True])
def test_it_equals_its_twin_on_a_long_stream(weighted):
    stream = zipf_stream(5_000, keys=400, weighted=weighted)

    found, twin = sketch_of((24, 333, 0.2), stream), twin_of((24, 333, 0.2), stream)

    assert slots(found) == twin_slots(twin)


def test_the_algorithm_of_fish_step_by_step():
    # Alg. 1 with K_max = 2, N_epoch = 3, alpha = 0.5: after the third tuple the past is halved,
    # before the fourth is counted; then a key without a counter takes over the least one.
    sketch = DecayedSpaceSaving(capacity=2, epoch=3, decay=0.5)

    sketch.update(keys(7, 7, 8))
    assert slots(sketch)[:4] == [[7, 8], [2.0, 1.0], [0.0, 0.0], [3.0]]

    sketch.update(keys(7))
    assert slots(sketch)[:4] == [[7, 8], [2.0, 0.5], [0.0, 0.0], [2.5]]

    sketch.update(keys(9))
    assert slots(sketch)[:4] == [[7, 9], [2.0, 1.5], [0.0, 0.5], [3.5]]

    sketch.update(keys(9, 9))
    assert slots(sketch)[:4] == [[7, 9], [1.0, 2.25], [0.0, 0.25], [3.25]]


def test_an_epoch_counts_tuples_whatever_they_weigh():
    sketch = DecayedSpaceSaving(capacity=4, epoch=2, decay=0.5)

    sketch.update(keys(1, 1, 2), np.array([10.0, 0.0, 1.0]))

    assert sketch.tracked().counts.tolist() == [5.0, 1.0]


@given(st.tuples(CAPACITIES, EPOCHS, st.sampled_from([0.25, 0.5])), streams(max_tuples=40))
def test_shares_stay_shares(settings, stream):
    # In the paper only counters fade, and no counter reaches a share of all tuples ever seen. Here
    # every tuple is in some counter for what is left of it. Dyadic decays keep the sums exact.
    sketch = sketch_of(settings, stream)

    assert sketch.tracked().counts.sum() == sketch.total


def test_the_hot_key_of_late_is_heavy_however_long_the_past():
    past = Stream(np.arange(50_000, dtype=np.uint64), None)
    of_late = Stream(np.full(2_000, 77_777, np.uint64), None)

    decayed = sketch_of((32, 1_000, 0.2), past, of_late)
    plain = SpaceSaving(32)
    plain.update(past.hashes)
    plain.update(of_late.hashes)

    assert decayed.heavy(0.5).keys.tolist() == [77_777]
    assert plain.heavy(0.5).keys.tolist() == []


def test_a_key_that_was_hot_long_ago_loses_its_counter():
    once_hot, since = Stream(np.full(1_000, 5, np.uint64), None), zipf_stream(8_000, keys=200)

    decayed = sketch_of((32, 1_000, 0.2), once_hot, since)
    plain = SpaceSaving(32)
    plain.update(once_hot.hashes)
    plain.update(since.hashes)

    assert decayed.estimate(keys(5)).tolist() == [0.0]
    assert plain.estimate(keys(5))[0] >= 1_000


@given(st.tuples(CAPACITIES, st.integers(121, 500), DECAYS), streams())
def test_within_the_first_epoch_nothing_fades(settings, stream):
    plain = SpaceSaving(settings[0])
    plain.update(*stream)

    arrays = sketch_of(settings, stream).snapshot()

    for name, expected in plain.snapshot().items():
        assert arrays[name].tolist() == expected.tolist()


@given(st.tuples(CAPACITIES, EPOCHS, DECAYS), streams(), CUTS)
def test_how_the_stream_is_cut_does_not_matter(settings, stream, cuts):
    parts = stream.cut(*sorted(min(at, len(stream.hashes)) for at in cuts))

    assert slots(sketch_of(settings, *parts)) == slots(sketch_of(settings, stream))


@given(st.tuples(CAPACITIES, EPOCHS, DECAYS), streams(), streams(), st.booleans())
def test_a_resumed_sketch_goes_on_within_the_epoch(settings, first, second, used):
    sketch = sketch_of(settings, first)
    snapshot = pickle.loads(pickle.dumps(sketch.snapshot()))
    resumed = sketch_of(settings, second) if used else DecayedSpaceSaving(*settings)
    resumed.load(snapshot)

    sketch.update(*second)
    resumed.update(*second)

    assert slots(resumed) == slots(sketch)


def with_array(name, values):
    return lambda arrays: arrays | {name: np.array(values)}


DAMAGES = {
    "without position": lambda arrays: {k: v for k, v in arrays.items() if k != "position"},
    "without counts": lambda arrays: {k: v for k, v in arrays.items() if k != "counts"},
    "of a plain SpaceSaving": lambda _: SpaceSaving(4).snapshot(),
    "two positions": with_array("position", [1, 1]),
    "a position of another type": with_array("position", [1.0]),
    # Beyond the end of the epoch it would never come to the end, and nothing would fade again.
    "a position behind the end of the epoch": with_array("position", [6]),
    "a position before its start": with_array("position", [-1]),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_snapshot_is_refused_and_changes_nothing(damage):
    sketch = sketch_of((4, 5, 0.5), (keys(1, 2, 2),))
    before = slots(sketch)

    with pytest.raises(SnapshotMismatchError):
        sketch.load(damage(sketch_of((4, 5, 0.5), (keys(7, 8, 8, 9),)).snapshot()))

    assert slots(sketch) == before


@pytest.mark.parametrize(("epoch", "decay"), [(3, 0.5), (50, 0.5), (5, 0.25)])
def test_a_sketch_that_fades_otherwise_does_not_resume(epoch, decay):
    # Its counts mean something else; within an epoch of 3 the fourth tuple has no place.
    snapshot = sketch_of((4, 5, 0.5), (keys(7, 8, 8, 9),)).snapshot()

    with pytest.raises(SnapshotMismatchError):
        DecayedSpaceSaving(4, epoch, decay).load(snapshot)


def test_merging_makes_no_sketch_that_has_stopped_to_fade():
    one, other = (sketch_of((4, 5, 0.5), (keys(1, 2, 3, 1, 1, 2),)) for _ in range(2))

    merged = one.merge(other)

    assert isinstance(merged, DecayedSpaceSaving)
    assert (merged.epoch, merged.decay) == (5, 0.5)
    merged.update(keys(*[9] * 5))
    assert merged.total == 0.5 * (one.total + other.total + 4) + 1


def test_sketches_that_fade_otherwise_are_not_merged():
    with pytest.raises(InvalidInputError, match="merge sketches that fade alike"):
        DecayedSpaceSaving(4, 5, 0.5).merge(DecayedSpaceSaving(4, 5, 0.25))


@pytest.mark.parametrize(
    "kinds", [(SpaceSaving, DecayedSpaceSaving), (DecayedSpaceSaving, SpaceSaving)]
)
def test_a_sketch_that_fades_is_not_merged_with_one_that_does_not(kinds):
    one, other = (kind(4) for kind in kinds)

    with pytest.raises(UnskewError, match="`other`"):
        one.merge(other)


def test_a_merged_sketch_is_as_far_into_its_epoch_as_the_further_one():
    one, other = sketch_of((4, 5, 0.5), (keys(1, 2),)), sketch_of((4, 5, 0.5), (keys(3, 3, 3),))

    assert slots(one.merge(other))[-1] == slots(other.merge(one))[-1] == [3]


def test_memory_does_not_grow_with_the_number_of_keys():
    sketch = DecayedSpaceSaving(50, epoch=700)
    before = list(sketch.summary)

    sketch.update(np.arange(30_000, dtype=np.uint64))

    assert all(a is b for a, b in zip(before, sketch.summary, strict=True))
    assert len(sketch) == 50


def test_it_shows_how_full_it_is():
    assert repr(sketch_of((4, 5, 0.5), (keys(1, 1, 2),))) == (
        "DecayedSpaceSaving(2 of 4 counters, 3)"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"capacity": 0}, "`capacity` is 0"),
        ({"capacity": 4, "epoch": 0}, "`epoch` is 0"),
        ({"capacity": 4, "epoch": -5}, "`epoch` is -5"),
        ({"capacity": 4, "decay": 0}, "`decay` is 0"),
        ({"capacity": 4, "decay": 1.0}, "`decay` is 1.0"),
        ({"capacity": 4, "decay": float("nan")}, "`decay` is nan"),
        ({"capacity": 4, "decay": -0.2}, "`decay` is -0.2"),
    ],
)
def test_settings_outside_their_range_are_refused(settings, message):
    with pytest.raises(InvalidParameterError, match=message):
        DecayedSpaceSaving(**settings)


def test_bad_input_changes_nothing():
    sketch = sketch_of((4, 2, 0.5), (keys(1, 2),))
    before = slots(sketch)

    with pytest.raises(InvalidInputError):
        sketch.update(keys(1, 2), np.array([1.0, np.inf]))

    assert slots(sketch) == before
