import numpy as np
import pytest

from unskew.checks import (
    MAX_CAPACITY,
    MIN_CAPACITY,
    check_capacities,
    check_flag,
    check_number,
    check_share,
    check_whole,
)
from unskew.errors import InvalidInputError, InvalidParameterError, InvalidTypeError


@pytest.mark.parametrize("value", [2, 7, 9, np.int8(7), np.uint64(7)])
def test_a_whole_number_within_its_range_comes_back_as_an_int(value):
    checked = check_whole("n", value, 2, 9)

    assert type(checked) is int
    assert checked == value


@pytest.mark.parametrize(
    ("value", "expected"), [(1, "at least 2"), (-7, "at least 2"), (10, "at most 9")]
)
def test_a_whole_number_outside_its_range_is_refused_with_the_bound(value, expected):
    with pytest.raises(InvalidParameterError, match=f"`n` is {value}; expected {expected}"):
        check_whole("n", value, 2, 9)


@pytest.mark.parametrize(
    "value", [True, np.True_, 4.0, np.float64(4), "4", None, [4], np.timedelta64(4, "s")]
)
def test_what_is_no_whole_number_is_refused_even_if_it_is_equal_to_one(value):
    with pytest.raises(InvalidParameterError, match=r"`n` is .*; expected a whole number"):
        check_whole("n", value, 2, 9)


@pytest.mark.parametrize("value", [0, 0.5, 1, np.float32(0.5), np.uint8(1)])
def test_a_number_within_its_range_comes_back_as_a_float(value):
    checked = check_number("decay", value, 0, 1)

    assert type(checked) is float
    assert checked == value


@pytest.mark.parametrize(
    "value", [-0.1, float("nan"), float("inf"), True, "0", None, 1j, np.timedelta64(1, "s")]
)
def test_a_number_outside_its_range_is_refused_with_the_range(value):
    with pytest.raises(
        InvalidParameterError, match=r"`decay` is .*; expected a number from 0 to 1"
    ):
        check_number("decay", value, 0, 1)
    with pytest.raises(InvalidParameterError, match="expected a finite number, at least 0"):
        check_number("t_0", value, 0)


@pytest.mark.parametrize("value", [0.5, 5e-324, 1 - 2**-53, np.float32(0.5), np.float16(0.25)])
def test_a_share_between_0_and_1_comes_back_as_a_float(value):
    checked = check_share("theta", value)

    assert type(checked) is float
    assert checked == value


@pytest.mark.parametrize(
    "value",
    [0, 1, 0.0, 1.0, -0.5, 1.5, float("nan"), float("inf"), np.float64(1), np.int64(0)],
)
def test_a_number_that_is_no_share_is_refused(value):
    with pytest.raises(
        InvalidParameterError, match=r"`theta` is .*; expected a number in \(0, 1\)"
    ):
        check_share("theta", value)


@pytest.mark.parametrize("value", [True, "0.5", None, 0.5j, np.complex128(0.5), [0.5]])
def test_what_is_no_real_number_is_no_share(value):
    with pytest.raises(
        InvalidParameterError, match=r"`theta` is .*; expected a number in \(0, 1\)"
    ):
        check_share("theta", value)


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_])
def test_a_flag_comes_back_as_a_bool(value):
    checked = check_flag("distinct", value)

    assert type(checked) is bool
    assert checked == value


@pytest.mark.parametrize("value", [0, 1, None, "yes", np.int64(1), []])
def test_what_is_only_true_or_false_in_a_sense_is_no_flag(value):
    with pytest.raises(InvalidParameterError, match=r"`distinct` is .*; expected True or False"):
        check_flag("distinct", value)


@pytest.mark.parametrize(
    "capacities", [[1, 2.5], (1, 2.5), np.array([1, 2.5]), [np.int8(1), np.float32(2.5)]]
)
def test_capacities_come_back_as_floats(capacities):
    checked = check_capacities(capacities, 2)

    assert checked == (1.0, 2.5)
    assert [type(each) for each in checked] == [float, float]


def test_no_capacities_are_none():
    assert check_capacities(None, 5) is None


def test_capacities_lie_no_further_apart_than_can_be_told_apart():
    assert check_capacities([MIN_CAPACITY, MAX_CAPACITY], 2) == (MIN_CAPACITY, MAX_CAPACITY)
    for beyond in (MIN_CAPACITY / 2, MAX_CAPACITY * 2):
        with pytest.raises(InvalidInputError, match=r"for worker 1; pass speeds from 1e-06 to"):
            check_capacities([1, beyond], 2)


@pytest.mark.parametrize(
    "bad", [0, 0.0, -1, float("nan"), float("inf"), True, np.True_, "1", None, 1j, [1]]
)
def test_a_capacity_that_is_no_speed_is_refused_with_its_worker(bad):
    with pytest.raises(InvalidInputError, match=r"`capacities` is .* for worker 2; .*resize"):
        check_capacities([1.0, 1.0, bad, bad], 4)


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_one_capacity_for_each_worker_is_needed(n_workers):
    with pytest.raises(InvalidInputError, match=f"has 3 values for {n_workers} workers"):
        check_capacities([1, 1, 1], n_workers)


@pytest.mark.parametrize("capacities", [2, 1.5, "11", b"11", {1, 2}, {0: 1, 1: 2}, iter([1, 2])])
def test_capacities_that_are_not_in_a_row_are_refused(capacities):
    with pytest.raises(InvalidTypeError, match="pass one number for each worker"):
        check_capacities(capacities, 2)
