"""The constructions by name: how the tracked keys get their workers (Gedik sec. 4.2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unskew.errors import UnknownNameError
from unskew.partition.penalties import Assignment, Board, new_board, place_all, utility_number
from unskew.partition.readj import readj
from unskew.partition.redist import redist
from unskew.partition.resources import Resources
from unskew.partition.scan import scan
from unskew.typing import Loads

CONSTRUCTIONS = ("scan", "redist", "readj")

_Mapped = npt.NDArray[np.int64]


def check_construction(name: str) -> str:
    """Return the name of a construction; refuse any other."""
    if name not in CONSTRUCTIONS:
        raise UnknownNameError("construction", name, CONSTRUCTIONS)
    return name


def construct(
    construction: str,
    utility: str,
    max_moves: int,
    resources: Resources,
    keys: Assignment,
    workers_before: int,
    speeds: Loads,
) -> _Mapped:
    """Return the worker of each key.

    Workers that are new come one at a time, each on the mapping that the one before has led to, as
    in the paper's experiments (sec. 5.1). Of two without keys neither would get its part: a key for
    one of them does not raise the smallest load, so nothing makes up for the migration.
    """
    rows = resources.varying()
    costs = resources.costs(keys.shares)[rows]
    for n in range(min(workers_before + 1, len(speeds)), len(speeds) + 1):
        slowness = speeds[:n].mean() / speeds[:n]
        board = new_board(costs, slowness, resources.thetas(n)[rows])
        keys = keys._replace(old=_constructed(construction, utility, max_moves, board, keys))
    return keys.old


def _constructed(
    construction: str, utility: str, max_moves: int, board: Board, keys: Assignment
) -> _Mapped:
    number, mapped = utility_number(utility), np.zeros(len(keys.shares), np.int64)
    if construction == "scan":
        scan(board, keys, number, mapped)
    elif construction == "redist":
        redist(board, keys, number, mapped)
    else:
        # Keys of workers that are gone have moved before the first readjustment.
        mapped = np.where(keys.old < len(board.held), keys.old, keys.fallback)
        spent = keys.spent + float(keys.moving[mapped != keys.old].sum())
        place_all(board, mapped)
        moves = np.zeros_like(mapped)
        readj(board, keys._replace(spent=spent), number, max_moves, moves, mapped)
    return mapped
