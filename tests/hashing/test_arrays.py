import numpy as np
import pytest

from unskew.errors import InvalidInputError, InvalidTypeError, SnapshotMismatchError
from unskew.hashing.arrays import (
    MAX_WEIGHT,
    as_hashes,
    as_readonly,
    as_times,
    as_weights,
    check_arrays,
)


def test_hashes_are_taken_without_a_copy():
    hashes = np.array([1, 2, 3], np.uint64)

    assert np.shares_memory(as_hashes(hashes), hashes)


def test_int64_is_taken_bit_for_bit():
    # Spark's xxhash64 is a signed long.
    signed = np.array([-1, 0, -(2**63), 2**63 - 1], np.int64)

    checked = as_hashes(signed)

    assert checked.dtype == np.uint64
    assert checked.tolist() == [2**64 - 1, 0, 2**63, 2**63 - 1]


def test_every_second_hash_of_an_array_is_taken_and_lies_together():
    hashes = np.arange(10, dtype=np.uint64)

    checked = as_hashes(hashes[::2])

    assert checked.tolist() == [0, 2, 4, 6, 8]
    assert checked.flags.c_contiguous


def test_hashes_in_the_order_of_bytes_of_another_machine_keep_their_value():
    # A kernel that read them as they lie would route every key elsewhere.
    swapped = np.array([1, 2**40], np.dtype(np.uint64).newbyteorder())

    assert as_hashes(swapped).tolist() == [1, 2**40]


def test_what_comes_out_is_read_only_and_what_went_in_is_not():
    hashes, weights = np.array([1, 2], np.uint64), np.array([0.5, 2.0])

    for checked in (as_hashes(hashes), as_weights(weights, 2), as_weights(None, 2)):
        assert not checked.flags.writeable
    assert hashes.flags.writeable
    assert weights.flags.writeable


def test_checking_changes_no_value_of_the_input():
    hashes, weights = np.array([5, 6], np.int64), np.array([1, 2], np.int32)

    as_hashes(hashes)
    as_weights(weights, 2)

    assert hashes.dtype == np.int64
    assert hashes.tolist() == [5, 6]
    assert weights.tolist() == [1, 2]


def test_read_only_hashes_are_taken():
    # Arrow hands out read-only memory.
    hashes = np.array([1, 2], np.uint64)
    hashes.flags.writeable = False

    assert as_hashes(hashes).tolist() == [1, 2]


@pytest.mark.parametrize(
    "dtype", [np.int32, np.uint32, np.float64, np.bool_, "M8[s]", "m8[s]", object, "U3"]
)
def test_hashes_of_another_type_are_refused_by_its_name(dtype):
    values = np.zeros(2, dtype)

    with pytest.raises(InvalidTypeError, match="`hashes` is an array of") as caught:
        as_hashes(values)

    assert str(values.dtype) in str(caught.value)
    assert "hash_keys" in str(caught.value)


@pytest.mark.parametrize("values", [[1, 2], (1, 2), range(2), 7, None, "ab"])
def test_what_is_no_array_is_refused_by_its_type(values):
    with pytest.raises(InvalidTypeError, match=f"`hashes` is a {type(values).__name__};"):
        as_hashes(values)


@pytest.mark.parametrize("values", [[1.0, 2.0], 1.0, "ab"])
def test_weights_that_are_no_array_are_refused_by_their_type(values):
    with pytest.raises(InvalidTypeError, match=f"`weights` is a {type(values).__name__};"):
        as_weights(values, 2)


@pytest.mark.parametrize("shape", [(), (2, 2), (1, 2, 3)])
def test_any_number_of_dimensions_but_one_is_refused(shape):
    found = f"has {len(shape)} dimensions"

    with pytest.raises(InvalidInputError, match=f"`hashes` {found}"):
        as_hashes(np.zeros(shape, np.uint64))
    with pytest.raises(InvalidInputError, match=f"`weights` {found}"):
        as_weights(np.zeros(shape), 2)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float32, np.float64])
def test_weights_of_any_real_type_become_doubles(dtype):
    checked = as_weights(np.array([0, 1, 3], dtype), 3)

    assert checked.dtype == np.float64
    assert checked.tolist() == [0.0, 1.0, 3.0]


def test_every_second_weight_of_an_array_is_taken_and_lies_together():
    checked = as_weights(np.arange(6.0)[::2], 3)

    assert checked.tolist() == [0.0, 2.0, 4.0]
    assert checked.flags.c_contiguous


def test_no_weights_are_an_empty_array():
    assert as_weights(None, 5).tolist() == []


@pytest.mark.parametrize("dtype", [np.bool_, np.complex128, object, "U3", "m8[s]"])
def test_weights_that_are_no_real_numbers_are_refused(dtype):
    with pytest.raises(InvalidTypeError, match="`weights` is an array of"):
        as_weights(np.zeros(2, dtype), 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1.0, -5e-324])
def test_a_weight_that_cannot_be_a_load_is_refused_with_its_position(bad):
    weights = np.array([1.0, 0.0, bad, bad])

    with pytest.raises(InvalidInputError, match=rf"`weights` is {bad} at position 2;"):
        as_weights(weights, 4)


def test_minus_zero_is_no_negative_weight():
    assert as_weights(np.array([-0.0]), 1).tolist() == [0.0]


@pytest.mark.parametrize("length", [0, 2, 4])
def test_one_weight_for_each_tuple_is_needed(length):
    with pytest.raises(InvalidInputError, match=f"has 3 values for {length} tuples"):
        as_weights(np.ones(3), length)


def test_a_read_only_view_shares_memory_and_leaves_its_base_alone():
    base = np.arange(3.0)

    view = as_readonly(base)

    assert np.shares_memory(view, base)
    assert not view.flags.writeable
    assert base.flags.writeable


def test_the_largest_weight_is_taken_and_the_next_one_refused():
    # Sums of larger ones would reach infinity, and then no load is less than another.
    assert as_weights(np.array([MAX_WEIGHT]), 1).tolist() == [MAX_WEIGHT]
    with pytest.raises(InvalidInputError, match="at position 0"):
        as_weights(np.array([np.nextafter(MAX_WEIGHT, np.inf)]), 1)
    assert np.isfinite(MAX_WEIGHT * 2.0**63)


EXPECTED = {"loads": np.zeros(2), "keys": np.zeros(2, np.uint64)}


def test_arrays_as_expected_are_no_reason_to_refuse():
    check_arrays(
        {"keys": np.array([7, 2**64 - 1], np.uint64), "loads": np.array([0.5, 0])}, EXPECTED
    )
    check_arrays(
        {"keys": np.zeros(9, np.uint64), "loads": np.zeros(2)}, EXPECTED, of_any_length=["keys"]
    )
    check_arrays(
        {"keys": np.zeros(0, np.uint64)}, {"keys": EXPECTED["keys"]}, of_any_length=["keys"]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"more": np.zeros(1)}, r"arrays is \['keys', 'loads', 'more'\]"),
        ({"loads": np.zeros(2, np.float32)}, "array `loads` is .*f4"),
        ({"loads": np.zeros(2, ">f8")}, "array `loads` is .*>f8"),
        ({"loads": np.zeros(3)}, r"array `loads` is .*\(3,\)"),
        ({"loads": np.zeros((2, 1))}, r"array `loads` is .*\(2, 1\)"),
        ({"keys": np.zeros((2, 1), np.uint64)}, r"array `keys` is .*2\)"),
        ({"loads": np.array([0, np.nan])}, "array `loads` is .*nan"),
        ({"loads": np.array([0, np.inf])}, "array `loads` is "),
        ({"loads": np.array([0, -1.0])}, r"array `loads` is .*-1\.0"),
    ],
)
def test_arrays_that_are_not_as_expected_are_refused_by_name(change, message):
    with pytest.raises(SnapshotMismatchError, match=message):
        check_arrays(EXPECTED | change, EXPECTED, of_any_length=["keys"])


def test_a_missing_array_is_refused():
    with pytest.raises(
        SnapshotMismatchError, match=r"arrays is \['keys'\]; expected \['keys', 'loads'\]"
    ):
        check_arrays({"keys": EXPECTED["keys"]}, EXPECTED)


def test_no_times_are_an_empty_array():
    assert as_times(None, 5).tolist() == []


@pytest.mark.parametrize("time", [7, 7.0, np.float32(7), np.int64(7)])
def test_one_time_is_that_of_all(time):
    assert as_times(time, 3).tolist() == [7.0] * 3


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, np.float64])
def test_times_of_any_real_type_become_read_only_doubles(dtype):
    checked = as_times(np.array([0, 3, 2], dtype), 3)

    assert checked.dtype == np.float64
    assert checked.tolist() == [0.0, 3.0, 2.0]
    assert not checked.flags.writeable


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_a_time_that_is_none_is_refused_with_its_position(bad):
    with pytest.raises(InvalidInputError, match=rf"`times` is {bad} at position 1; pass seconds"):
        as_times(np.array([0.0, bad, bad]), 3)
    with pytest.raises(InvalidInputError, match=rf"`times` is {bad} at position 0; pass seconds"):
        as_times(bad, 3)


@pytest.mark.parametrize("times", [[1.0, 2.0], "now", True, np.True_, 1j])
def test_times_that_are_neither_an_array_nor_a_number_are_refused(times):
    with pytest.raises(InvalidTypeError, match=f"`times` is a {type(times).__name__};"):
        as_times(times, 2)


@pytest.mark.parametrize("dtype", [np.bool_, "M8[s]", "m8[s]", object, "U3"])
def test_times_that_are_no_real_numbers_are_refused(dtype):
    with pytest.raises(InvalidTypeError, match=r"`times` is an array of .*pass seconds as numbers"):
        as_times(np.zeros(2, dtype), 2)


def test_a_time_for_each_tuple_is_needed():
    with pytest.raises(InvalidInputError, match="`times` has 3 values for 2 tuples"):
        as_times(np.ones(3), 2)
    with pytest.raises(InvalidInputError, match="`times` has 2 dimensions"):
        as_times(np.ones((2, 1)), 2)
