"""Means and variances, against values that Spark 4.3 gave for the same rows."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import aggregators as naive
from tests.window.split import batch, finish_one, one_group, results
from unskew.errors import InvalidParameterError
from unskew.window import Mean, StandardDeviation, Variance

NAN, INF = math.nan, math.inf

# values: avg, var_samp, var_pop
SPARK = [
    ([], (None, None, None)),
    ([None], (None, None, None)),
    ([2.5], (2.5, None, 0.0)),
    ([1.0, 4.0], (2.5, 4.5, 2.25)),
    ([None, 3.0, None, 5.0, 7.0], (5.0, 4.0, 8 / 3)),
    ([NAN], (NAN, None, NAN)),
    ([INF], (INF, None, NAN)),
    ([1.0, NAN, None], (NAN, NAN, NAN)),
    ([1.0, INF], (INF, NAN, NAN)),
    ([INF, -INF], (NAN, NAN, NAN)),
    ([1e308, 1e308], (INF, 0.0, 0.0)),
    ([1e200, -1e200], (0.0, INF, INF)),
    ([1e9 + 1, 1e9 + 2, 1e9 + 3], (1e9 + 2, 1.0, 2 / 3)),
    ([0.1] * 7, (0.1, 0.0, 0.0)),
]


def same(found, expected):
    if found is None or expected is None:
        return found is expected
    return found == pytest.approx(expected, rel=1e-14, nan_ok=True)


@pytest.mark.parametrize(("values", "expected"), SPARK)
def test_results_are_those_of_spark(values, expected):
    column = pa.array(values, pa.float64())
    aggregators = Mean("x"), Variance("x"), Variance("x", population=True)

    for aggregator, right in zip(aggregators, expected, strict=True):
        (found,) = finish_one(aggregator, x=column).values()
        assert same(found, right), aggregator


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize(("values", "expected"), SPARK)
def test_deviations_are_roots_of_variances(values, expected, population):
    (found,) = finish_one(
        StandardDeviation("x", population=population), x=pa.array(values, pa.float64())
    ).values()

    variance = expected[2 if population else 1]
    assert same(found, None if variance is None else math.sqrt(variance))


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float16()])
def test_numbers_of_any_width_are_taken(kind):
    column = pa.array([1, 2, 6], pa.int8()).cast(kind)

    assert finish_one(Mean("x"), x=column) == {"mean": 3.0}
    assert finish_one(Variance("x"), x=column) == {"variance": 7.0}


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e12, -1e15])
def test_a_large_mean_costs_no_more_digits_of_the_variance_than_of_the_values(offset):
    values = offset + np.random.default_rng(3).integers(0, 64, 5_000).astype(np.float64)
    rows = batch(key=["a"] * 5_000, x=values)

    found = results(Variance("x"), rows, cuts=[10, 11, 2_000, 4_000], seed=5)["a"]["variance"]

    # A mean is rounded to a double; squares of it would cost twice as many digits.
    rounding = np.finfo(np.float64).eps * abs(offset) / values.std()
    expected = naive.variance(values.tolist(), population=False)
    assert found == pytest.approx(expected, rel=1e-12 + rounding)


@given(st.floats(-1e300, 1e300), st.integers(1, 50), st.lists(st.integers(0, 50), max_size=4))
def test_equal_values_do_not_vary(value, copies, cuts):
    rows = batch(key=["a"] * copies, x=[value] * copies)

    assert results(Variance("x", population=True), rows, cuts)["a"] == {"variance": 0.0}


def test_values_near_the_largest_double_have_a_variance_where_it_is_finite():
    values = [1.5e308, 1.5e308 - 1e300, None]

    (found,) = finish_one(StandardDeviation("x", population=True), x=values).values()

    assert found is not None  # the square overflows, the mean must not
    assert Variance("x").compute(batch(x=values), one_group(3))["mean"][0].as_py() == pytest.approx(
        1.5e308 - 5e299
    )


def test_partials_without_values_weigh_nothing():
    rows = batch(key=["a"] * 4, x=[None, 3.0, None, 5.0])

    assert results(Variance("x"), rows, cuts=[1, 2, 3])["a"] == {"variance": 2.0}
    assert results(Mean("x"), rows, cuts=[1, 2, 3])["a"] == {"mean": 4.0}


def test_what_is_no_flag_is_refused():
    with pytest.raises(InvalidParameterError, match="True or False"):
        Variance("x", population="yes")
