"""Scan: the heaviest key first, each to the worker that suits it best."""

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
def scan(board: Board, keys: Assignment, number: int, mapped: npt.NDArray[np.int64]) -> None:
    """Map all keys, given heaviest first (Gedik sec. 4.2.2, Alg. 2).

    O(R N). Of workers that suit a key equally well the lowest takes it.
    """
    n, spent = board.held.shape[0], keys.spent
    for key in range(mapped.shape[0]):
        best, chosen = np.inf, 0
        stays = migration_penalty(keys, spent, n)
        goes = migration_penalty(keys, spent + keys.moving[key], n)
        for worker in range(n):
            gamma = stays if worker == keys.old[key] else goes
            value = utility(number, penalty_with(board, key, worker), gamma)
            if value < best:
                best, chosen = value, worker
        if chosen != keys.old[key]:
            spent += keys.moving[key]
        mapped[key] = chosen
        place(board, key, chosen)
        rank_loads(board)
