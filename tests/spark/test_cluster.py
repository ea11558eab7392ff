"""Real executors with real shuffle files, some of them killed between one reduce task and the next.

`job_on_cluster` says how. What a killed executor had written is written again, by map tasks that
run a second time, while reduce tasks that are done have read what was written first.
"""

import pytest

from tests.spark.job_on_cluster import CARELESS, RANDOM, WORKERS, Case, Outcome
from tests.spark.operations import check_all
from tests.spark.processes import ask, ended_afterwards, environment, living, wait_for

# One cluster answers for all tests of this file, within the time of the first of them.
pytestmark = pytest.mark.timeout(900)

SHUFFLES = ("repartition", "join")

OVER_A_SCAN = [
    Case("scan", "key", collected=True),
    Case("scan", "w-choices", checksums=False, collected=True),
]
OVER_A_SHUFFLE = [
    *(Case(name, "w-choices", checksums=False) for name in SHUFFLES),
    Case("repartition", "shuffle", checksums=False, collected=True),
    # These shuffle once more behind the router, and the executor is killed behind that. What Arrow
    # tables are made of goes the way of pandas frames.
    Case("repartition", "w-choices", "apply_in_pandas", checksums=False),
    Case("repartition", "w-choices", "aggregate", checksums=False),
]
AS_UNSKEW_LEAVES_IT = Case("repartition", "w-choices", collected=True)
CHECKED = Case("repartition", CARELESS, checksums=True)
CHECKED_TOO_LATE = Case("join", CARELESS, checksums=True, collected=True)
CHECKED_IN_VAIN = Case("repartition", CARELESS, "aggregate", checksums=True)
UNCHECKED = [
    Case("scan", RANDOM, checksums=False, collected=True),
    *(Case(name, CARELESS, checksums=False) for name in SHUFFLES),
]
CASES = [
    *OVER_A_SCAN,
    *OVER_A_SHUFFLE,
    AS_UNSKEW_LEAVES_IT,
    CHECKED,
    CHECKED_TOO_LATE,
    CHECKED_IN_VAIN,
    *UNCHECKED,
]


def shown(case):
    return " ".join(map(str, case))


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    with ended_afterwards(folder):
        question = {"folder": str(folder), "cases": CASES}
        answer = ask("tests.spark.job_on_cluster", question, environment(folder), folder)
        wait_for(lambda: not living(folder), "the executors to end")
    return answer


@pytest.fixture(scope="module")
def outcomes(answer):
    found = [Outcome(*each) for each in answer["outcomes"]]
    return dict(zip(CASES, found, strict=True))


def test_rows_are_those_that_spark_gives(answer):
    check_all(answer["differences"])


def test_every_kill_falls_between_two_reduce_tasks_and_loses_map_output(outcomes):
    for case, outcome in outcomes.items():
        assert 0 < outcome.finished < WORKERS, case
        assert outcome.error or outcome.attempts > 1, case
    assert len({outcome.finished for outcome in outcomes.values()}) > 1


@pytest.mark.parametrize("case", [*OVER_A_SCAN, *OVER_A_SHUFFLE], ids=shown)
def test_a_repeated_task_routes_alike_and_needs_no_checksum(outcomes, case):
    outcome = outcomes[case]
    assert (outcome.lost, outcome.added, outcome.error) == (0, 0, None)
    assert outcome.checksums == ["false", "false"]


def test_the_checksum_is_turned_on_and_fails_no_job(outcomes):
    outcome = outcomes[AS_UNSKEW_LEAVES_IT]
    assert (outcome.lost, outcome.added, outcome.error) == (0, 0, None)
    assert outcome.checksums == ["true", "true"], "they were off before"


def test_the_checksum_mends_what_a_careless_router_does(outcomes):
    outcome = outcomes[CHECKED]
    assert (outcome.lost, outcome.added, outcome.error) == (0, 0, None)


def test_the_checksum_fails_a_job_that_has_handed_out_rows(outcomes):
    outcome = outcomes[CHECKED_TOO_LATE]
    if outcome.error is None:  # the rows came in the same order by chance
        assert (outcome.lost, outcome.added) == (0, 0)
    else:
        assert "cannot rollback the ResultStage" in outcome.error


def test_the_checksum_does_not_reach_across_two_shuffles(outcomes):
    """Once Spark acts on it, `unskew.spark.replay` says too much."""
    outcome = outcomes[CHECKED_IN_VAIN]
    assert outcome.checksums == ["true", "true"]
    assert outcome.lost
    assert outcome.added


@pytest.mark.parametrize("source", ["scan", *SHUFFLES])
def test_these_kills_do_mix_up_rows_where_nothing_is_done_about_it(outcomes, source):
    """Else the tests above would show nothing."""
    seen = [outcomes[case] for case in UNCHECKED if case.source == source]
    assert all(outcome.checksums == ["false", "false"] for outcome in seen)
    assert any(outcome.lost and outcome.added for outcome in seen)
