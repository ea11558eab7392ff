import numpy as np
import pytest

from unskew.partition import Frequencies, PartitionFunction, Resources, consistent_function, quality

KEYS = np.arange(8, dtype=np.uint64)
COUNTS = np.array([5, 3, 2, 1, 4, 3, 3, 1])  # X, Z, V, R, U, Y, W and L of fig. 1
FREQUENCIES = Frequencies(KEYS, COUNTS / COUNTS.sum())
QUADRATIC = Resources(computation="quadratic", alpha=1.1)


def function(workers):
    return PartitionFunction(consistent_function(max(workers) + 1).ring, KEYS, np.array(workers))


def test_the_measures_are_those_of_section_3():
    before, after = function([0, 0, 0, 0, 1, 1, 1, 1]), function([0, 0, 1, 1, 2, 2, 1, 0])

    found = quality(before, after, FREQUENCIES, QUADRATIC)

    # Loads 9, 6, 7 by tuples, and 35, 14, 25 by their squares.
    by_tuples, by_squares = 9 / 6 / 1.1, 35 / 14 / 1.1
    assert found.imbalances == pytest.approx(
        {"state": by_tuples, "computation": by_squares, "communication": by_tuples}
    )
    assert found.imbalance == pytest.approx((by_tuples**2 * by_squares) ** (1 / 3))
    moved = 2 + 1 + 4 + 3 + 1
    assert found.migration == pytest.approx(moved / (22 / 3))
    assert found.objective == pytest.approx(found.imbalance * (1 + found.migration))


def test_loads_are_measured_by_the_speed_of_workers():
    ring = consistent_function(2, (1, 3)).ring
    same = PartitionFunction(ring, KEYS, np.array([0, 1, 1, 1, 1, 1, 1, 1]))

    found = quality(same, same, FREQUENCIES, Resources(alpha=2.0))

    assert found.imbalances["state"] == pytest.approx(17 / 3 / 5 / 2)
    assert found.migration == 0


def test_a_worker_without_load_is_no_balance_at_all():
    same = function([0, 0, 0, 0, 0, 0, 0, 2])

    assert quality(same, same, FREQUENCIES, QUADRATIC).imbalance == float("inf")
