import numpy as np
import pytest

from unskew.checks import check_flag, check_share, check_whole
from unskew.errors import InvalidParameterError


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
