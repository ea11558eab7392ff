import numpy as np
import pytest

from unskew.errors import SnapshotMismatchError
from unskew.sketch import Counts


def counts(keys, values, errors=None):
    errors = [0.0] * len(keys) if errors is None else errors
    return Counts(np.array(keys, np.uint64), np.array(values, float), np.array(errors, float))


def rows(found):
    return list(zip(*(column.tolist() for column in found), strict=True))


MIXED = counts([5, 2**63, 1, 3], [1.0, 4.0, 4.0, 2.0], [0.5, 0.0, 1.0, 0.25])


def test_the_heaviest_come_first_and_among_equals_the_lowest_key():
    assert rows(MIXED.heaviest_first()) == [
        (1, 4.0, 1.0),
        (2**63, 4.0, 0.0),
        (3, 2.0, 0.25),
        (5, 1.0, 0.5),
    ]


@pytest.mark.parametrize(
    ("threshold", "expected"), [(0, 4), (1.0, 4), (1.5, 3), (2.0, 3), (4.0, 2), (4.1, 0)]
)
def test_a_key_is_kept_from_the_threshold_on(threshold, expected):
    ordered = MIXED.heaviest_first()

    assert rows(ordered.at_least(threshold)) == rows(ordered)[:expected]


@pytest.mark.parametrize("k", [0, 1, 3, 4, 9])
def test_the_top_are_the_heaviest(k):
    ordered = MIXED.heaviest_first()

    assert rows(ordered.top(k)) == rows(ordered)[:k]


def test_the_threshold_looks_at_counts_and_not_at_places():
    assert set(MIXED.at_least(3.0).keys.tolist()) == {1, 2**63}


def test_what_a_snapshot_gets_are_copies():
    original = counts([1], [2.0])
    arrays = original.arrays()

    arrays["counts"][0] = 99

    assert original.counts[0] == 2.0
    assert list(arrays) == ["keys", "counts", "errors"]


def test_the_columns_of_a_snapshot_come_back():
    assert rows(Counts.of(MIXED.arrays() | {"total": np.array([11.0])})) == rows(MIXED)


@pytest.mark.parametrize("column", ["keys", "counts", "errors"])
def test_columns_of_unequal_length_are_refused(column):
    arrays = MIXED.arrays()
    arrays[column] = arrays[column][:3]

    with pytest.raises(SnapshotMismatchError, match="lengths of columns"):
        Counts.of(arrays)


def test_it_shows_its_numbers():
    assert (
        repr(counts([7, 8], [2, 1])) == "Counts(keys=[7, 8], counts=[2.0, 1.0], errors=[0.0, 0.0])"
    )


def test_nothing_has_nothing_heavy():
    nothing = counts([], [])

    assert rows(nothing.heaviest_first().at_least(0.0)) == []
