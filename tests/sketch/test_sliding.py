import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import lossy_counting as naive
from tests.sketch.dyadic import streams, zipf_stream
from unskew.errors import InvalidInputError, InvalidParameterError, SnapshotMismatchError
from unskew.sketch import LossyCounting, SlidingLossyCounting

# A window is a multiple of counters - 1.
SHAPES = st.tuples(st.integers(2, 6), st.integers(1, 12)).map(
    lambda drawn: {"counters": drawn[0], "window": drawn[1] * (drawn[0] - 1)}
)
EPSILONS = st.sampled_from([0.5, 0.25, 0.1, 0.01])
CUTS = st.lists(st.integers(0, 120), max_size=4)


def sketch_of(epsilon, shape, *parts):
    sketch = SlidingLossyCounting(epsilon, **shape)
    for part in parts:
        sketch.update(*part)
    return sketch


def keys(*values):
    return np.array(values, np.uint64)


def rows(counts):
    found, *numbers = (column.tolist() for column in counts)
    return dict(zip(found, zip(*numbers, strict=True), strict=True))


def state(sketch):
    return {name: array.tolist() for name, array in sketch.snapshot().items()}


@settings(max_examples=150)
@given(EPSILONS, SHAPES, streams(), CUTS)
def test_it_equals_its_twin_after_every_batch(epsilon, shape, stream, cuts):
    sketch = SlidingLossyCounting(epsilon, **shape)
    twin = naive.SlidingLossyCounting(epsilon, **shape)

    for part in stream.cut(*sorted(min(at, len(stream.hashes)) for at in cuts)):
        sketch.update(*part)
        for key, weight in part.tuples():
            twin.update(key, weight)

        assert rows(sketch.tracked()) == twin.tracked()
        assert sketch.total == twin.active().total
        delta = (1 + epsilon) / 2
        assert sorted(sketch.heavy(delta).keys.tolist()) == sorted(twin.heavy(delta))


@pytest.mark.parametrize("counters", [2, 3, 5, 9])
def test_any_number_of_counters_equals_the_twin_tuple_by_tuple(counters):
    shape = {"counters": counters, "window": 40 * (counters - 1) // 2}
    stream = zipf_stream(1_000, keys=100)
    sketch = SlidingLossyCounting(0.05, **shape)
    twin = naive.SlidingLossyCounting(0.05, **shape)

    for at, (key, _) in enumerate(stream.tuples()):
        sketch.update(stream.hashes[at : at + 1])
        twin.update(key)
        assert rows(sketch.tracked()) == twin.tracked(), f"after {at + 1} tuples"


@pytest.mark.parametrize("counters", [2, 3, 4, 7])
def test_the_answer_covers_the_window_and_at_most_one_stagger_more(counters):
    window = 12 * (counters - 1)
    sketch = SlidingLossyCounting(0.1, window, counters)

    covered = []
    for seen in range(1, 6 * window):
        sketch.update(keys(1))
        covered.append(sketch.total)
        # Tuples weigh 1: the total is how many of the last tuples the answer is made of.
        assert min(seen, window) <= sketch.total <= window + 12

    later = covered[2 * window :]
    assert (min(later), max(later)) == (window + 1, window + 12), "both ends are reached"


def test_the_answer_is_made_of_the_last_tuples():
    window, epsilon = 300, 1 / 1024
    stream = zipf_stream(5_000, keys=50)
    sketch, seen = SlidingLossyCounting(epsilon, window, 4), 0

    for part in stream.cut(*range(170, 5_000, 170)):
        sketch.update(*part)
        seen += len(part.hashes)
        covered = stream.hashes[seen - int(sketch.total) : seen]
        found, counts = np.unique(covered, return_counts=True)
        # So small an epsilon closes no window of the counter: the counts are exact.
        assert rows(sketch.tracked()) == {
            key: (count, 0.0) for key, count in zip(found.tolist(), counts.tolist(), strict=True)
        }


def test_a_key_that_left_the_window_is_forgotten():
    sketch = SlidingLossyCounting(0.1, window=100)

    sketch.update(np.repeat(keys(7, 8), [990, 110]))
    assert rows(sketch.tracked()) == {7: (40.0, 0.0), 8: (110.0, 4.0)}, "one and a half windows"

    sketch.update(keys(8))
    assert rows(sketch.tracked()) == {8: (101.0, 0.0)}


@given(EPSILONS, SHAPES, streams(), CUTS)
def test_how_the_stream_is_cut_does_not_matter(epsilon, shape, stream, cuts):
    parts = stream.cut(*sorted(min(at, len(stream.hashes)) for at in cuts))

    assert state(sketch_of(epsilon, shape, *parts)) == state(sketch_of(epsilon, shape, stream))


@given(EPSILONS, SHAPES, streams(), streams())
def test_a_loaded_sketch_goes_on_as_if_nothing_had_happened(epsilon, shape, first, second):
    sketch, resumed = sketch_of(epsilon, shape, first), sketch_of(epsilon, shape, second)
    resumed.load(pickle.loads(pickle.dumps(sketch.snapshot())))
    assert rows(resumed.tracked()) == rows(sketch.tracked())

    sketch.update(*second)
    resumed.update(*second)

    assert state(resumed) == state(sketch)
    assert rows(resumed.tracked()) == rows(sketch.tracked())


SHAPE = {"window": 4, "counters": 3}

DAMAGES = {
    "without seen": lambda arrays: {k: v for k, v in arrays.items() if k != "seen"},
    "without a counter": lambda arrays: {k: v for k, v in arrays.items() if k[:2] != "2."},
    "without counts of the last counter": lambda arrays: {
        k: v for k, v in arrays.items() if k != "2.counts"
    },
    "the last counter with fewer counts than keys": lambda arrays: (
        arrays | {"2.counts": arrays["2.counts"][:-1]}
    ),
    "the last counter with another epsilon": lambda arrays: arrays | {"2.epsilon": np.array([0.2])},
    "seen of another type": lambda arrays: arrays | {"seen": np.array([2.5])},
    "less than nothing seen": lambda arrays: arrays | {"seen": np.array([-1])},
    "of one lossy counter": lambda _: LossyCounting(0.1).snapshot(),
    "of more counters": lambda _: sketch_of(0.1, {"window": 6, "counters": 4}).snapshot(),
    "of fewer counters": lambda _: sketch_of(0.1, {"window": 4, "counters": 2}).snapshot(),
    # As many counters, but they start over at other tuples: the answer would cover another window.
    "of another window": lambda _: sketch_of(0.1, {"window": 10, "counters": 3}).snapshot(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_snapshot_is_refused_and_changes_nothing(damage):
    sketch = sketch_of(0.1, SHAPE, (keys(1, 2, 2, 1, 1, 1),))
    before = state(sketch)

    with pytest.raises(SnapshotMismatchError):
        sketch.load(damage(sketch_of(0.1, SHAPE, (keys(7, 8, 8, 9, 9),)).snapshot()))

    assert state(sketch) == before


@pytest.mark.parametrize("counters", [1, 0, -2])
def test_fewer_than_two_counters_are_refused(counters):
    with pytest.raises(InvalidParameterError, match=f"`counters` is {counters};"):
        SlidingLossyCounting(0.1, 10, counters)


@pytest.mark.parametrize(("window", "counters"), [(0, 3), (-4, 3), (5, 3), (10, 4)])
def test_a_window_that_the_counters_cannot_share_is_refused(window, counters):
    with pytest.raises(InvalidParameterError, match=f"`window` is {window};.*= {counters - 1}"):
        SlidingLossyCounting(0.1, window, counters)


def test_an_epsilon_outside_0_to_1_is_refused():
    with pytest.raises(InvalidParameterError, match=r"`epsilon` is 1\.5;"):
        SlidingLossyCounting(1.5, 4)


def test_nothing_counted_has_nothing_heavy():
    sketch = SlidingLossyCounting(0.1, 4)
    sketch.update(np.empty(0, np.uint64))

    assert sketch.heavy(0.5).keys.tolist() == []
    assert sketch.total == 0.0


def test_bad_input_changes_nothing():
    sketch = sketch_of(0.1, SHAPE, (keys(1, 2, 3, 4, 5),))
    before = state(sketch)

    with pytest.raises(InvalidInputError):
        sketch.update(keys(1, 2), np.array([1.0, np.nan]))

    assert state(sketch) == before
