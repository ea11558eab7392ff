import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import aggregators as naive
from tests.window.split import batch, finish_one, results
from unskew.errors import InvalidParameterError
from unskew.window import Histogram, count_up_to, quantile


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60),
    st.integers(1, 8),
    st.lists(st.integers(0, 60), max_size=5),
    st.integers(0, 99),
)
def test_counts_and_means_are_kept_however_a_key_is_split(values, bins, cuts, seed):
    rows = batch(key=["a"] * len(values), x=values)

    found = results(Histogram("x", bins), rows, cuts, seed)["a"]["histogram"]

    centres = [each["centre"] for each in found["bins"]]
    counts = [each["count"] for each in found["bins"]]
    assert len(centres) == min(bins, len(set(values)))
    assert centres == sorted(set(centres))
    assert sum(counts) == len(values)
    assert (found["low"], found["high"]) == (min(values), max(values))
    assert found["low"] <= centres[0]
    assert centres[-1] <= found["high"]
    weighted = sum(c * n for c, n in zip(centres, counts, strict=True))
    assert weighted == pytest.approx(sum(values), abs=1e-6 * max(map(abs, values)) + 1e-300)


@given(st.lists(st.integers(-50, 50), max_size=60), st.integers(1, 8))
def test_a_batch_gives_the_bins_of_its_twin(values, bins):
    found = finish_one(Histogram("x", bins), x=pa.array(values, pa.int64()))["histogram"]["bins"]

    expected = naive.merge_closest([(float(value), 1) for value in values], bins)
    assert [(each["centre"], each["count"]) for each in found] == expected


def test_only_numbers_that_are_finite_are_counted():
    values = [None, float("nan"), float("inf"), -float("inf"), 2.0, -0.0, 0.0]

    found = finish_one(Histogram("x", 5), x=pa.array(values))["histogram"]

    assert found["bins"] == [{"centre": 0.0, "count": 2}, {"centre": 2.0, "count": 1}]
    assert (found["low"], found["high"]) == (0.0, 2.0)
    assert "-0.0" not in str(found)
    assert "-0.0" not in str(finish_one(Histogram("x", 5), x=[-0.0]))


def test_a_key_without_values_has_no_ends_and_no_bins():
    found = finish_one(Histogram("x", 5), x=pa.array([None, float("nan")]))

    assert found == {"histogram": {"low": None, "high": None, "bins": []}}


@pytest.mark.parametrize("draw", ["normal", "random", "exponential", "lognormal"])
@pytest.mark.parametrize("cuts", [[], [100, 5_000, 5_001, 12_000, 15_000]])
def test_quantiles_are_near_the_true_ones(draw, cuts):
    random = np.random.default_rng(9)
    values = getattr(random, draw)(size=20_000)
    rows = batch(key=["a"] * len(values), x=values)

    found = [results(Histogram("x", 64), rows, cuts)["a"]["histogram"]]

    tolerance = {"normal": 0.01, "random": 0.01, "exponential": 0.03, "lognormal": 0.12}[draw]
    for q in np.linspace(0, 1, 21):
        point = quantile(found, q)[0].as_py()
        assert abs((values <= point).mean() - q) < tolerance
        estimate = count_up_to(found, np.quantile(values, q))[0].as_py()
        assert abs(estimate / len(values) - q) < tolerance


@pytest.mark.parametrize("bins", [0, -3, 2.0, True, 2**20 + 1])
def test_numbers_of_bins_without_a_meaning_are_refused(bins):
    with pytest.raises(InvalidParameterError, match="`bins` is"):
        Histogram("x", bins)
