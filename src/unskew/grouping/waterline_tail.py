"""Tail keys that move: which ones leave a worker that the tail alone fills above its limit.

A key that moves in one block and not in another has a replica more, and over a long stream these
are all the replicas there are beyond one for each key of the tail. So the same keys should move in
every block, each to the same place, whatever the counts of the block, and for every source:

- keys leave a worker in the order of their hashes. If it must give more than usual, more keys go,
  the usual ones among them.
- they look at F_2, and only if that does not suffice at F_3, and so on;
- first go those whose next candidate usually has room. Usually is the word: how full the keys of
  F_1 make each worker is averaged over the last blocks, a number for each worker. Hashing alone
  puts a tenth more on some workers than on others, which lasts; chance adds as much again in a
  block, which does not.
"""

from __future__ import annotations

import numpy as np

from unskew.grouping.waterline_block import Amounts, Indices
from unskew.grouping.waterline_plan import Plan, before, loads_of, ranked

CANDIDATES = 3
"""How many candidates beyond F_1 a tail key looks at."""
TRIES = 4
"""How often keys that met at a full worker try another time before all look further."""
USUAL = 3.0
"""What room that lasts is worth: a tenth of the level as much as three tenths of the arc's keys."""


def settle(plan: Plan, tail: Indices, depth: Amounts, reserved: Amounts, usual: Amounts) -> Indices:
    """Move tail keys off workers above their limit; return those that found no worker as a whole.

    ``reserved`` is the room that head keys take of their F_1, which movers leave alone while they
    can. ``usual`` is how full F_1 makes each worker, as a share of its level. ``depth`` is each
    tail key's order.
    """
    first = plan.candidates.first
    for spared in (reserved, np.zeros(len(reserved))):
        for position in range(1, min(len(reserved), CANDIDATES + 1)):
            stays = plan.workers[tail] == first[tail]
            there = stays & (plan.room[first[tail]] < 0)
            tail, depth = tail[there], depth[there]
            if not len(tail):
                return tail
            target = plan.candidates.at(tail, position)
            rank = depth + USUAL * np.clip(usual[target], 0.0, 2.0)
            order = ranked(first[tail], rank / (2 * USUAL + 1))
            tail, depth = tail[order], depth[order]
            _move(plan, tail, target[order], depth, spared)
    stays = plan.workers[tail] == first[tail]
    tail = tail[stays]
    evicted = tail[before(plan.amounts[tail], first[tail]) < -plan.room[first[tail]]]
    plan.room += loads_of(first[evicted], plan.amounts[evicted], len(plan.room))
    return evicted


def _move(plan: Plan, tail: Indices, target: Indices, depth: Amounts, spared: Amounts) -> None:
    """Move keys to their targets, as many as must and can; those of one home come together."""
    home, amounts = plan.candidates.first[tail], plan.amounts[tail]
    moved = np.zeros(len(tail), np.bool_)
    for _ in range(TRIES):
        room = plan.room - spared
        may = np.flatnonzero(~moved & (plan.room[home] < 0) & (amounts <= room[target]))
        must = before(amounts[may], home[may]) < -plan.room[home[may]]
        go = may[must]
        if not len(go):
            return
        go = go[ranked(target[go], depth[go])]
        fits = before(amounts[go], target[go]) + amounts[go] <= room[target[go]]
        go = go[fits]
        moved[go] = True
        plan.workers[tail[go]] = target[go]
        n = len(plan.room)
        plan.room += loads_of(home[go], amounts[go], n)
        plan.room -= loads_of(target[go], amounts[go], n)
