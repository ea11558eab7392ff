from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.window.split import batch, finish_one, one_group, results
from unskew.errors import InvalidInputError
from unskew.window import Sum, group_rows

MOST, LEAST = 2**63 - 1, -(2**63)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.int8(), pa.int64()),
        (pa.uint32(), pa.int64()),
        (pa.int64(), pa.int64()),
        (pa.float32(), pa.float64()),
        (pa.float16(), pa.float64()),
        (pa.null(), pa.float64()),
        (pa.decimal128(10, 2), pa.decimal128(20, 2)),
        (pa.decimal128(35, 2), pa.decimal128(38, 2)),
    ],
)
def test_the_type_is_that_of_sparks_sum(kind, expected):
    inputs = pa.schema([("x", kind)])

    assert Sum("x").result_schema(inputs) == pa.schema([("sum", expected)])
    assert Sum("x").compute(batch(x=pa.nulls(2, kind)), one_group(2)).schema.types == [expected]


def test_small_numbers_do_not_wrap_at_their_own_width():
    assert finish_one(Sum("x"), x=pa.array([127] * 100, pa.int8())) == {"sum": 12_700}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([MOST, -1], MOST - 1),
        ([LEAST, MOST], -1),
        ([MOST, MOST, LEAST, LEAST], -2),
        ([2**62, 2**62 - 1], MOST),
        ([LEAST], LEAST),
        ([-(2**62), -(2**62)], LEAST),
    ],
)
def test_the_largest_sums_are_exact(values, expected):
    assert finish_one(Sum("x"), x=values) == {"sum": expected}


@pytest.mark.parametrize(
    "values", [[MOST, 1], [LEAST, -1], [2**62, 2**62], [MOST] * 5, [LEAST] * 4]
)
def test_a_sum_beyond_64_bits_is_refused(values):
    with pytest.raises(InvalidInputError, match=r"`x` adds up to more than int64 holds.*cast it"):
        finish_one(Sum("x"), x=values)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(LEAST, MOST)), min_size=1, max_size=12))
def test_an_overflow_is_noticed_in_whichever_key_it_is(pairs):
    rows = batch(key=[key for key, _ in pairs], x=pa.array([x for _, x in pairs], pa.int64()))
    true = {key: {"sum": sum(x for other, x in pairs if other == key)} for key, _ in pairs}

    try:
        found = results(Sum("x"), rows)
    except InvalidInputError:
        assert any(not LEAST <= each["sum"] <= MOST for each in true.values())
    else:
        assert found == true


def test_merged_sums_beyond_64_bits_are_refused():
    partials = batch(sum=[2**62, 2**62])

    with pytest.raises(InvalidInputError, match="`x` adds up to more"):
        Sum("x").merge(partials, one_group(2))


def test_decimals_are_exact_and_keys_may_come_in_any_order():
    values = [Decimal("0.01"), Decimal("99999999.99"), None, Decimal("-5.00")]
    rows = batch(key=["b", "a", "c", "a"], x=pa.array(values, pa.decimal128(10, 2)))

    assert results(Sum("x"), rows, cuts=[1, 2]) == {
        "a": {"sum": Decimal("99999994.99")},
        "b": {"sum": Decimal("0.01")},
        "c": {"sum": None},
    }


def test_a_decimal_of_too_many_digits_is_refused():
    most = Decimal("9" * 38)

    assert finish_one(Sum("x"), x=pa.array([most], pa.decimal128(38, 0))) == {"sum": most}
    for values in ([most, Decimal(1)], [most] * 4, [Decimal("-" + "9" * 38)] * 2):
        with pytest.raises(InvalidInputError, match="`x` adds up to more than decimal128"):
            finish_one(Sum("x"), x=pa.array(values, pa.decimal128(38, 0)))


def test_floats_follow_ieee():
    nan, inf = float("nan"), float("inf")
    keys = ["nan", "nan", "inf", "inf", "both", "both", "zero"]
    rows = batch(key=keys, x=pa.array([nan, 1.0, inf, 1.0, inf, -inf, -0.0]))

    sums = Sum("x").compute(rows, group_rows([rows["key"]]))["sum"].to_numpy()

    assert np.array_equal(sums, [nan, inf, nan, 0.0], equal_nan=True)
