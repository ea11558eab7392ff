"""How well a stream was spread: balance of the workers, and what it cost in replicas."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unskew.typing import AnyArray, KeyHashes, Loads, Workers


def worker_loads(workers: Workers, n_workers: int, weights: AnyArray | None = None) -> Loads:
    """Return what each worker was given.

    >>> worker_loads(np.array([0, 2, 2], np.int32), 4).tolist()
    [1.0, 0.0, 2.0, 0.0]
    """
    return np.bincount(workers, weights, n_workers).astype(np.float64)


def imbalance(loads: npt.NDArray[np.float64]) -> float:
    """Return how much more of the whole load the busiest worker has than its share.

    I(t) of 2CNE sec. II-B, with loads as shares of all tuples: 0 is perfect, 1 - 1/n the worst.

    >>> imbalance(np.array([3.0, 1.0]))
    0.25
    """
    return float(loads.max() / loads.sum() - 1 / len(loads))


def peak(loads: npt.NDArray[np.float64]) -> float:
    """Return the load of the busiest worker over the average: by how much a job runs longer.

    >>> peak(np.array([3.0, 1.0]))
    1.5
    """
    return float(loads.max() * len(loads) / loads.sum())


def replication(hashes: KeyHashes, workers: Workers) -> float:
    """Return replicas per key: on how many workers a key is, on average.

    >>> replication(np.array([7, 7, 8], np.uint64), np.array([0, 1, 1], np.int32))
    1.5
    """
    _, keys = np.unique(hashes, return_inverse=True)
    n_workers = int(workers.max()) + 1
    replicas = np.unique(keys.astype(np.int64) * n_workers + workers)
    return len(replicas) / (int(keys.max()) + 1)
