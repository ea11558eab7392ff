import numpy as np
import pytest
from hypothesis import given

from tests.streams import replicas, streams
from unskew import metrics


def test_equal_loads_have_no_imbalance():
    loads = np.full(7, 3.0)

    assert metrics.imbalance(loads) == pytest.approx(0)
    assert metrics.peak(loads) == pytest.approx(1)


def test_all_load_on_one_worker_is_the_worst():
    loads = np.array([5.0, 0, 0, 0])

    assert metrics.imbalance(loads) == 0.75
    assert metrics.peak(loads) == 4


def test_workers_without_a_tuple_count():
    assert metrics.worker_loads(np.array([1], np.int32), 3).tolist() == [0, 1, 0]


@given(stream=streams())
def test_replication_is_the_mean_of_the_replicas(stream):
    workers = (np.arange(len(stream.hashes)) % 3).astype(np.int32)

    expected = replicas(stream.hashes, workers).mean()

    assert metrics.replication(stream.hashes, workers) == pytest.approx(expected)
