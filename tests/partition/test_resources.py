import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import InvalidParameterError, UnknownNameError
from unskew.partition import Resources

ZIPF = 1 / np.arange(1, 10_001)
ZIPF /= ZIPF.sum()


def root(x):
    return x**0.5


def square(x):
    return x * x


def line(x):
    return 3 * x


def steps(x):
    return 1.0 if x < 0.01 else 5.0


@given(n=st.integers(2, 1000), alpha=st.floats(1.001, 100))
def test_theta_is_how_far_one_load_is_off_if_all_others_are_least(n, alpha):
    least = n / (alpha + n - 1)  # eq. 15, of an average of 1

    thetas = Resources(alpha=alpha).thetas(n)

    assert thetas == pytest.approx([alpha * least - 1] * 3)


@pytest.mark.parametrize("n", [2, 10, 100])
@pytest.mark.parametrize("sigma", [0.1, 1, 1.0])
def test_delta_is_that_of_equation_17(n, sigma):
    theta = 0.2 * (n - 1) / (n + 0.2)
    linear = sigma * theta / n
    quadratic = math.sqrt(sigma * theta / (10**6 * n))

    assert Resources(sigma=sigma).delta(n) == pytest.approx(linear)
    assert Resources("constant", "constant", sigma=sigma).delta(n) == pytest.approx(linear)
    joins = Resources(computation="quadratic", sigma=sigma)
    assert joins.delta(n) == pytest.approx(min(linear, quadratic))


def test_the_strictest_resource_sets_delta():
    lax, strict = Resources(alpha=4.0), Resources(alpha=1.1)

    assert Resources(alpha=(1.1, 4, 4)).delta(10) == strict.delta(10) < lax.delta(10)
    assert Resources("constant", alpha=(1.1, 4, 4)).delta(10) == lax.delta(10)


def test_what_is_known_of_the_keys_raises_delta_for_quadratic_costs():
    joins = Resources("constant", "quadratic", alpha=(1.2, 1.2, 1e6), domain=10_000)
    first = joins.delta(10)
    tracked = ZIPF[first <= ZIPF]

    second = joins.delta(10, tracked)

    rest = (1 - tracked.sum()) ** 2 / (10_000 - len(tracked))
    average = ((tracked**2).sum() + rest) / 10
    theta = joins.thetas(10)[1]
    assert second == pytest.approx(math.sqrt(0.1 * theta * average))
    assert second > 5 * first


@pytest.mark.parametrize(("function", "name"), [(square, "quadratic"), (line, "linear")])
def test_a_given_function_has_the_delta_of_the_named_one_that_it_is(function, name):
    for known in (None, ZIPF[:100]):
        given_ones, named = (
            Resources(computation=each, domain=10_000).delta(10, known) for each in (function, name)
        )
        assert given_ones == pytest.approx(named)


@pytest.mark.parametrize("function", [root, square, steps, math.sin])
def test_delta_of_a_given_function_solves_equation_16(function):
    resources = Resources(function, domain=10_000, alpha=(1.2, 1.2, 1e6))
    delta = resources.delta(10)
    cost = min(10_000 * function(1 / 10_000), function(1) + 9_999 * function(0))
    limit = 0.1 * resources.thetas(10)[0] * cost / 10

    assert function(delta) <= limit * (1 + 1e-9)
    of_tuples = Resources("constant", alpha=(1.2, 1.2, 1e6)).delta(10)
    assert delta == of_tuples or function(delta * 1.001 + 1e-12) >= limit


def test_costs_are_those_of_the_functions():
    shares = np.array([0.5, 0.25])

    costs = Resources(root, "quadratic").costs(shares)

    assert costs.tolist() == [[0.5**0.5, 0.5], [0.25, 0.0625], [0.5, 0.25]]
    assert Resources("constant").state_costs(shares).tolist() == [1, 1]


def test_constant_functions_do_not_count():
    assert Resources().varying() == [0, 2]
    assert Resources("constant", "quadratic").varying() == [1, 2]
    assert Resources(lambda _: 7.0, lambda x: 1 + x).varying() == [1, 2]


def test_with_one_worker_no_key_is_tracked():
    assert Resources(computation="quadratic").delta(1) == 1


def test_it_pickles():
    resources = Resources(square, "quadratic", (1.1, 2, 3), 0.5, 100)

    assert pickle.loads(pickle.dumps(resources)) == resources


@pytest.mark.parametrize("where", ["state", "computation"])
@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: 2 - x, "does not decrease; at 0 it is 2, at 1e-09 only 2"),
        (lambda x: -x, "gives 0 to 1e"),
        (lambda _: 0.0, "more than 0 for a share of 1"),
        (lambda x: math.inf if x > 0.5 else x, "gives 0 to 1e"),
        (lambda _: math.nan, "gives 0 to 1e"),
        (math.log, "a number for every share"),
        (lambda x: 1 / x, "a number for every share"),
        (lambda _: None, "gives 0 to 1e"),
        (lambda _: "much", "a number for every share"),
        (lambda: 1.0, "a number for every share"),
        (7, "a function, or one of constant, linear, quadratic"),
    ],
)
def test_functions_that_no_cost_can_follow_are_refused(where, function, says):
    with pytest.raises(InvalidParameterError, match=f"`{where}` is .*{says}"):
        Resources(**{where: function})


def test_an_unknown_function_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="did you mean 'quadratic'"):
        Resources(computation="quadratc")


@pytest.mark.parametrize(
    "alpha",
    [1, 1.0, 0.5, -2, math.nan, math.inf, 1e7, "1.2", None, True, (1.2, 1.2), (1.2, 1.2, 1)],
)
def test_alpha_that_tolerates_nothing_or_is_none_is_refused(alpha):
    with pytest.raises(InvalidParameterError, match=r"`alpha` is .*a number above 1"):
        Resources(alpha=alpha)


@pytest.mark.parametrize("sigma", [0, 0.0, -0.1, 1.1, math.nan, "0.1", None, True])
def test_sigma_outside_its_range_is_refused(sigma):
    with pytest.raises(InvalidParameterError, match=r"`sigma` is .*\(0, 1\]"):
        Resources(sigma=sigma)


@pytest.mark.parametrize(("domain", "says"), [(0, "at least 1"), (1e6, "whole number")])
def test_a_domain_that_is_no_number_of_keys_is_refused(domain, says):
    with pytest.raises(InvalidParameterError, match=says):
        Resources(domain=domain)


@pytest.mark.parametrize("n", [0, -1, 2.0])
def test_delta_for_no_workers_is_refused(n):
    with pytest.raises(InvalidParameterError, match="n_workers"):
        Resources().delta(n)
