"""Flux (Enorm 3.2, 4.4.2), in exact fractions: pairs of workers, the largest group that helps.

Deviations: a group moves at most once in a plan; rounds follow until one moves nothing; workers
compare by load / capacity and the variance is weighted by capacity; groups of workers that are no
more go first, the largest first, to the worker that is least utilised with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def flux(
    loads: Sequence[int], owners: Sequence[int], n: int, capacities: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Return the moves (group, from, to) in order.

    >>> flux([5, 3, 1, 1], [0, 0, 0, 1], 2, [1, 1])
    [(0, 0, 1), (3, 1, 0)]
    """
    now = list(owners)
    moves = []

    def move(group: int, to: int) -> None:
        moves.append((group, now[group], to))
        now[group] = to

    def utilisation(worker: int, extra: int = 0) -> Fraction:
        own = sum(load for load, owner in zip(loads, now, strict=True) if owner == worker)
        return Fraction(own + extra, capacities[worker])

    largest_first = sorted(range(len(loads)), key=lambda group: -loads[group])
    for group in largest_first:
        if owners[group] >= n:
            move(group, min(range(n), key=lambda w: utilisation(w, loads[group])))
    while True:
        order = sorted(range(n), key=utilisation, reverse=True)
        before = len(moves)
        for giver, taker in list(zip(order, reversed(order), strict=True))[: n // 2]:
            moved = {group for group, _, _ in moves}
            for group in largest_first:
                if now[group] != giver or group in moved:
                    continue
                trial = [*now[:group], taker, *now[group + 1 :]]
                if variance(loads, trial, capacities) < variance(loads, now, capacities):
                    move(group, taker)
                    break
        if len(moves) == before:
            return moves


def variance(loads: Sequence[int], owners: Sequence[int], capacities: Sequence[int]) -> Fraction:
    """Return the variance of the workers' utilisation, weighted by capacity."""
    whole = sum(capacities)
    mean = Fraction(sum(loads), whole)
    totals = [0] * len(capacities)
    for load, owner in zip(loads, owners, strict=True):
        totals[owner] += load
    squares = [
        c * (Fraction(total, c) - mean) ** 2 for total, c in zip(totals, capacities, strict=True)
    ]
    return sum(squares, Fraction(0)) / whole
