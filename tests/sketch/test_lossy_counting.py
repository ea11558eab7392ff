import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import lossy_counting as naive
from tests.sketch.dyadic import Stream, streams, zipf_stream
from unskew.errors import InvalidInputError, InvalidParameterError, SnapshotMismatchError
from unskew.sketch import LossyCounting

# Some are no binary fractions: epsilon * total then rounds, at times just across a whole number.
EPSILONS = st.sampled_from([0.5, 0.25, 0.125, 0.1, 0.3, 1 / 7, 0.01])
# Where epsilon * total is exact, so are the bounds.
EXACT = st.sampled_from([0.5, 0.25, 0.125, 1 / 64])
CUTS = st.lists(st.integers(0, 120), max_size=4)


def sketch_of(epsilon, *parts):
    sketch = LossyCounting(epsilon)
    for part in parts:
        sketch.update(*part)
    return sketch


def twin_of(epsilon, stream):
    twin = naive.LossyCounting(epsilon)
    for key, weight in stream.tuples():
        twin.update(key, weight)
    return twin


def entries(sketch):
    """What is held, in the order it came."""
    arrays = sketch.snapshot()
    return [arrays[name].tolist() for name in ("keys", "counts", "errors", "total")]


def twin_entries(twin):
    return [
        list(twin.appearances),
        *map(list, (twin.appearances.values(), twin.errors.values())),
        [twin.total],
    ]


def keys(*values):
    return np.array(values, np.uint64)


def rows(counts):
    found, *numbers = (column.tolist() for column in counts)
    return dict(zip(found, zip(*numbers, strict=True), strict=True))


@settings(max_examples=150)
@given(EPSILONS, streams())
def test_it_equals_its_twin(epsilon, stream):
    assert entries(sketch_of(epsilon, stream)) == twin_entries(twin_of(epsilon, stream))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("epsilon", [0.1, 0.01, 0.001])
def test_it_equals_its_twin_on_a_long_stream(epsilon, weighted):
    stream = zipf_stream(6_000, weighted=weighted)

    assert entries(sketch_of(epsilon, stream)) == twin_entries(twin_of(epsilon, stream))


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, 1 / 3, 1 / 7, 0.01])
def test_a_window_closes_where_the_twin_closes_it_although_the_product_rounds(epsilon):
    # 0.1 * 3 is a little more than 0.3, 0.7 * 10 a little less than 7.
    stream = Stream(np.arange(3_000, dtype=np.uint64) % np.uint64(97), None)
    sketch, twin = LossyCounting(epsilon), naive.LossyCounting(epsilon)

    for at, (key, weight) in enumerate(stream.tuples()):
        sketch.update(stream.hashes[at : at + 1])
        twin.update(key, weight)
        assert sketch.total == twin.total
        assert len(sketch) == len(twin.appearances), f"after {at + 1} tuples"


def check_guarantees(sketch, true):
    """Manku and Motwani: undercounts by at most epsilon * N, and loses no key above that."""
    total = sum(true.values())
    held = rows(sketch.tracked())
    assert sketch.total == total
    for key, (count, error) in held.items():
        assert count <= true[key] <= count + error
        assert error <= sketch.epsilon * total
    for key, weight in true.items():
        assert weight <= sketch.epsilon * total or key in held


@settings(max_examples=150)
@given(EXACT, streams())
def test_counts_are_too_low_by_at_most_their_error(epsilon, stream):
    check_guarantees(sketch_of(epsilon, stream), stream.true_weights())


@settings(max_examples=150)
@given(EXACT, streams(), st.sampled_from([0.1, 0.26, 0.51, 0.75]))
def test_all_keys_above_delta_are_returned_and_none_below_delta_minus_epsilon(
    epsilon, stream, delta
):
    delta = max(delta, epsilon + 1 / 1024)
    sketch, true = sketch_of(epsilon, stream), stream.true_weights()
    total = sum(true.values())

    found = set(sketch.heavy(delta).keys.tolist())

    assert {key for key, weight in true.items() if weight > delta * total} <= found
    assert all(true[key] >= (delta - epsilon) * total for key in found)


@pytest.mark.parametrize("epsilon", [0.1, 0.01, 0.003])
@pytest.mark.parametrize("skew", [0.0, 1.0, 2.0])
def test_it_holds_no_more_keys_than_the_bound(epsilon, skew):
    sketch, seen = LossyCounting(epsilon), 0

    for part in zipf_stream(20_000, keys=20_000, skew=skew).cut(*range(100, 20_000, 100)):
        sketch.update(*part)
        seen += len(part.hashes)
        windows = max(1.0, epsilon * seen)
        # 1/epsilon * (1 + ln windows) when a window closes, and one more window's worth before.
        assert len(sketch) <= (2 + math.log(windows)) / epsilon


def test_every_key_new_leaves_one_window_of_keys():
    sketch = LossyCounting(0.01)

    sketch.update(np.arange(5_050, dtype=np.uint64))

    assert len(sketch) == 50
    assert sketch.tracked().errors.tolist() == [50.0] * 50


def test_memory_does_not_grow_with_the_number_of_keys():
    sketch = LossyCounting(0.01)
    sketch.update(np.arange(1_000, dtype=np.uint64))
    before = sum(array.nbytes for array in sketch._entries)

    sketch.update(np.arange(1_000, 100_000, dtype=np.uint64))

    assert sum(array.nbytes for array in sketch._entries) == before


@pytest.mark.parametrize("count", [63, 64, 65, 128, 129, 5_000])
def test_room_is_made_for_as_many_keys_as_are_needed(count):
    # Nothing leaves before 10,000 tuples: all these keys are held at once.
    stream = Stream(np.arange(count, dtype=np.uint64), np.full(count, 1.5))

    found = sketch_of(0.0001, stream)

    assert entries(found)[0] == list(range(count))
    assert found.tracked().counts.tolist() == [1.5] * count


def test_one_heavy_tuple_may_close_many_windows():
    sketch = sketch_of(0.25, Stream(keys(1, 2), np.array([3.0, 100.0])))

    # 25 windows of 4 are closed by the second; only the heavy key outweighs them.
    assert rows(sketch.tracked()) == {2: (100.0, 0.0)}


def test_tuples_lighter_than_one_are_counted_and_tuples_of_nothing_are_not():
    sketch = sketch_of(0.25, Stream(keys(1, 2, 3), np.array([0.25, 0.0, 0.5])))

    assert rows(sketch.tracked()) == {1: (0.25, 0.0), 3: (0.5, 0.0)}
    assert sketch.total == 0.75


@given(EPSILONS, streams(), CUTS)
def test_how_the_stream_is_cut_does_not_matter(epsilon, stream, cuts):
    parts = stream.cut(*sorted(min(at, len(stream.hashes)) for at in cuts))

    assert entries(sketch_of(epsilon, *parts)) == entries(sketch_of(epsilon, stream))


@given(EPSILONS, streams(), streams())
def test_a_loaded_sketch_goes_on_as_if_nothing_had_happened(epsilon, first, second):
    sketch, resumed = sketch_of(epsilon, first), sketch_of(epsilon, second)
    resumed.load(pickle.loads(pickle.dumps(sketch.snapshot())))

    sketch.update(*second)
    resumed.update(*second)

    assert entries(resumed) == entries(sketch)


def test_a_snapshot_of_many_keys_is_loaded_and_goes_on():
    stream = zipf_stream(6_000, keys=6_000, skew=0.2)
    first, second = stream.cut(3_000)
    loaded = LossyCounting(0.0001)

    loaded.load(sketch_of(0.0001, first).snapshot())
    loaded.update(*second)

    assert entries(loaded) == entries(sketch_of(0.0001, stream))


def test_a_snapshot_does_not_follow_the_sketch():
    sketch = sketch_of(0.1, (keys(1, 2),))
    snapshot = sketch.snapshot()

    sketch.update(keys(1, 3))

    assert snapshot["keys"].tolist() == [1, 2]
    assert snapshot["counts"].tolist() == [1.0, 1.0]


def with_array(name, change):
    return lambda arrays: arrays | {name: change(arrays[name].copy())}


def without(name):
    return lambda arrays: {key: array for key, array in arrays.items() if key != name}


DAMAGES = {
    **{f"without {n}": without(n) for n in ("keys", "counts", "errors", "total", "epsilon")},
    "another epsilon": with_array("epsilon", lambda a: a / 2),
    "no epsilon": with_array("epsilon", lambda a: a[:0]),
    "keys of another type": with_array("keys", lambda a: a.astype(np.int64)),
    "keys in two dimensions": with_array("keys", lambda a: a[None]),
    "fewer counts than keys": with_array("counts", lambda a: a[:-1]),
    "no total": with_array("total", lambda a: a[:0]),
    "counts that are no numbers": with_array("counts", lambda a: a * np.nan),
    "negative counts": with_array("counts", lambda a: -a),
    "a total that is no number": with_array("total", lambda a: a * np.nan),
    "a key held twice": with_array("keys", lambda a: np.full_like(a, a[0])),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_snapshot_is_refused_and_changes_nothing(damage):
    sketch = sketch_of(0.1, (keys(1, 2, 2),))
    before = entries(sketch)

    with pytest.raises(SnapshotMismatchError):
        sketch.load(damage(sketch_of(0.1, (keys(7, 8, 8, 9),)).snapshot()))

    assert entries(sketch) == before


def test_clearing_forgets_everything():
    sketch = sketch_of(0.1, zipf_stream(500))

    sketch.clear()

    assert len(sketch) == 0
    assert sketch.total == 0.0
    sketch.update(keys(4))
    assert rows(sketch.tracked()) == {4: (1.0, 0.0)}


@pytest.mark.parametrize("epsilon", [0, 1, 0.0, 1.0, -0.1, float("nan")])
def test_an_epsilon_outside_0_to_1_is_refused(epsilon):
    with pytest.raises(InvalidParameterError, match=f"`epsilon` is {epsilon};"):
        LossyCounting(epsilon)


@pytest.mark.parametrize("delta", [0.1, 0.05, 0, 1, 1.5, float("nan")])
def test_a_delta_that_is_not_above_epsilon_is_refused(delta):
    with pytest.raises(InvalidParameterError, match=rf"`delta` is {delta}; .*\(0\.1, 1\)"):
        LossyCounting(0.1).heavy(delta)


def test_nothing_counted_has_nothing_heavy():
    sketch = LossyCounting(0.1)
    sketch.update(np.empty(0, np.uint64))

    assert sketch.heavy(0.5).keys.tolist() == []


def test_it_shows_what_it_holds():
    assert repr(sketch_of(0.1, (keys(1, 1, 2),))) == "LossyCounting(epsilon=0.1, 2 keys, 3)"


def test_bad_input_changes_nothing():
    sketch = sketch_of(0.5, (keys(1, 2, 3),))
    before = entries(sketch)

    with pytest.raises(InvalidInputError):
        sketch.update(keys(1, 2), np.array([1.0, -1.0]))

    assert entries(sketch) == before
