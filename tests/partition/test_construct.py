import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import gedik as naive
from tests.partition.problems import cases, mapping, problem_of
from unskew.errors import UnknownNameError
from unskew.partition import CONSTRUCTIONS, Planner

EACH = pytest.mark.parametrize("construction", CONSTRUCTIONS)


@EACH
@given(data=st.data())
def test_it_maps_as_its_twin(construction, data):
    case = data.draw(cases(construction))

    plan = case.plan()

    twin = naive.construct(construction, problem_of(case, plan), case.previous.n_workers)
    assert mapping(plan.function) == twin


@EACH
@given(data=st.data())
def test_the_heaviest_keys_from_delta_on_are_tracked_and_mapped_to_a_worker(construction, data):
    case = data.draw(cases(construction))
    shares = case.frequencies.shares

    plan = case.plan()

    tracked = min((shares >= plan.delta).sum(), case.planner.max_tracked)
    assert set(plan.function.keys.tolist()) == set(case.frequencies.keys[:tracked].tolist())
    assert np.all((plan.function.workers >= 0) & (plan.function.workers < case.n))
    assert np.array_equal(plan.function.lookup(plan.function.keys), plan.function.workers)


def test_an_unknown_construction_gets_a_suggestion():
    with pytest.raises(
        UnknownNameError, match="construction is called 'read'; did you mean 'readj'"
    ):
        Planner(construction="read")
