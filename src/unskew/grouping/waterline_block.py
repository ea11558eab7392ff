"""A block of tuples: counted at once, and dealt out once it is known who gets how much of a key.

Counting is one sort. A tuple's mixed hash and its position share a word, the position in the low
bits, so the sorted words say which tuples have one key and in what order they came, and no two
words are equal: whatever sorts them, on any machine, gives the same. Keys whose hashes agree in all
bits above the position count as one in this block. That happens in one block of 10^5 and costs a
replica.

F_1 is the high half of the mixed hash, scaled. So sorted keys are sorted by F_1 too, and the keys
of a worker lie together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unskew.hashing.mix import spread
from unskew.typing import KeyHashes, Weights, Workers

Amounts = npt.NDArray[np.float64]
"""Tuples, or what they weigh. Whole numbers are exact up to 2**53."""
Indices = npt.NDArray[np.int64]

MAX_BLOCK = 1 << 20
_CHUNK = 1 << 13  # 64 KiB a temporary: the passes of the mix stay in the cache
_GOLDEN = 0.6180339887498949


class Block(NamedTuple):
    """The keys of a block, in the order of their mixed hashes."""

    positions: Indices
    """Where the tuples are, those of a key together and in order."""
    starts: Indices
    """Where in ``positions`` each key begins."""
    tuples: Indices
    """How many tuples each key has."""
    keys: KeyHashes
    """The mixed hash of each key."""
    amounts: Amounts
    """What each key weighs; how many tuples it has if no weights are given."""


class Pieces(NamedTuple):
    """How keys that are split are split: so much of which key to which worker."""

    keys: Indices
    workers: Indices
    amounts: Amounts


def count(hashes: KeyHashes, weights: Weights, salt: np.uint64) -> Block:
    """Count the keys of a block."""
    length = len(hashes)
    bits = np.uint64(max(1, (length - 1).bit_length()))
    low = (np.uint64(1) << bits) - np.uint64(1)
    mixed = np.empty(length, np.uint64)
    for at in range(0, length, _CHUNK):
        mixed[at : at + _CHUNK] = spread(hashes[at : at + _CHUNK], salt)
    words = (mixed & ~low) | np.arange(length, dtype=np.uint64)
    words.sort()
    positions = (words & low).view(np.int64)
    words >>= bits
    starts = np.concatenate(([0], np.flatnonzero(words[1:] != words[:-1]) + 1))
    tuples = np.diff(starts, append=length)
    amounts = (
        np.add.reduceat(weights[positions], starts) if len(weights) else tuples.astype(np.float64)
    )
    return Block(positions, starts, tuples, mixed[positions[starts]], amounts)


def deal(block: Block, workers: Indices, pieces: Pieces, weights: Weights) -> Workers:
    """Give every tuple its worker: those of a whole key to one, those of a split key by its pieces.

    The workers of a split key take turns, each as often as its piece is large, so that none of them
    waits for the end of the block.
    """
    in_order = np.repeat(workers.astype(np.int32), block.tuples)
    if len(pieces.keys):
        by_key = np.argsort(pieces.keys, kind="stable")
        ordered = Pieces(pieces.keys[by_key], pieces.workers[by_key], pieces.amounts[by_key])
        _deal_split(block, ordered, weights, in_order)
    out = np.empty(len(in_order), np.int32)
    out[block.positions] = in_order
    return out


def _deal_split(block: Block, pieces: Pieces, weights: Weights, in_order: Workers) -> None:
    """Overwrite the workers of split keys, whose pieces lie together."""
    first = np.flatnonzero(np.diff(pieces.keys, prepend=-1))
    keys = pieces.keys[first]
    tuples = block.tuples[keys]
    begins = np.cumsum(tuples) - tuples
    rank = np.arange(int(tuples.sum())) - np.repeat(begins, tuples)
    at = rank + np.repeat(block.starts[keys], tuples)
    turn = rank * np.repeat(_strides(tuples), tuples) % np.repeat(tuples, tuples)
    turn += np.repeat(begins, tuples)
    # A tuple is in the piece that holds its middle, all keys' pieces laid end to end.
    ends = np.cumsum(pieces.amounts)
    if len(weights):
        costs = np.empty(len(turn))
        costs[turn] = weights[block.positions[at]]
        middles = np.cumsum(costs) - costs / 2
        # Rounding must not carry a tuple over into the pieces of another key.
        piece = np.searchsorted(ends, middles, side="right")
        lowest = np.repeat(first, tuples)
        highest = np.repeat(np.append(first[1:], len(pieces.keys)) - 1, tuples)
        in_turn = pieces.workers[np.clip(piece, lowest, highest)]
    else:
        in_turn = np.repeat(pieces.workers, pieces.amounts.astype(np.int64))
    in_order[at] = in_turn[turn]


def _strides(tuples: Indices) -> Indices:
    """Return for each length a step prime to it and near the golden section.

    Walking through a run by such steps meets every place once, and any stretch of it evenly often.
    """
    strides: Indices = np.maximum(1, np.rint(tuples * _GOLDEN)).astype(np.int64)
    while (common := np.flatnonzero(np.gcd(strides, tuples) > 1)).size:
        strides[common] += 1
    return strides
