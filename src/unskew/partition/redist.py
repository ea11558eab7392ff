"""Redist: the key and the worker that suit each other best first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unskew._kernel import kernel
from unskew.partition.penalties import (
    Assignment,
    Board,
    migration_penalty,
    penalty_with,
    place,
    rank_loads,
    utility,
)


@kernel
def redist(board: Board, keys: Assignment, number: int, mapped: npt.NDArray[np.int64]) -> None:
    """Map all keys, in the order that utility over share gives (Gedik sec. 4.2.3, Alg. 3).

    O(R^2 N). Of equally good choices the heaviest key is taken, and the lowest worker. Alg. 3 as
    printed never fills the set of keys to place, never takes a placed key out of it, and adds to
    the migration by the old worker of the last key looked at; here, by that of the key placed.
    """
    n, spent = board.held.shape[0], keys.spent
    mapped[:] = -1
    for _ in range(mapped.shape[0]):
        best, chosen, target = np.inf, -1, 0
        stays = migration_penalty(keys, spent, n)
        for key in range(mapped.shape[0]):
            if mapped[key] >= 0:
                continue
            goes = migration_penalty(keys, spent + keys.moving[key], n)
            for worker in range(n):
                gamma = stays if worker == keys.old[key] else goes
                rho = penalty_with(board, key, worker)
                value = utility(number, rho, gamma) / keys.shares[key]
                if chosen < 0 or value < best:
                    best, chosen, target = value, key, worker
        if target != keys.old[chosen]:
            spent += keys.moving[chosen]
        mapped[chosen] = target
        place(board, chosen, target)
        rank_loads(board)
