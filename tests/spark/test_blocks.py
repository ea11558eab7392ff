"""Batches that wait for a block: routes are those of whole blocks, handed out batch for batch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew
from tests.streams import streams
from unskew.spark.route import routed

BLOCK = 128


@given(
    stream=streams(max_tuples=900),
    lengths=st.lists(st.integers(0, 300), max_size=8),
    name=st.sampled_from(["waterline", "shuffle"]),
)
def test_batches_of_any_lengths_are_answered_one_for_one(stream, lengths, name):
    grouping = unskew.grouping(name, 2, **({"lookahead": BLOCK} if name == "waterline" else {}))
    edges = np.minimum(np.cumsum([*lengths, len(stream.hashes)]), len(stream.hashes))
    columns = [stream.hashes] if stream.weights is None else list(stream)
    batches = list(zip(*(np.split(column, edges[:-1]) for column in columns), strict=True))

    answers = list(routed(grouping.build(), iter(batches)))

    assert [len(answer) for answer in answers] == [len(batch[0]) for batch in batches]
    expected = grouping.build().route(*columns)
    assert np.concatenate([answer.to_numpy() for answer in answers]).tolist() == expected.tolist()


def test_no_more_batches_wait_than_fill_a_block():
    taken = []

    def batches():
        for number in range(100):
            taken.append(number)
            yield (np.full(10, number, np.uint64),)

    answers = routed(unskew.grouping("waterline", 2, lookahead=BLOCK).build(), batches())

    next(answers)
    assert len(taken) == 13
    for _ in range(12):  # of the 13th, some rows are in the next block
        next(answers)
    assert len(taken) == 26


@pytest.mark.parametrize("lengths", [[], [0], [0, 0]])
def test_a_task_without_rows_has_nothing_to_route(lengths):
    batches = [(np.empty(length, np.uint64),) for length in lengths]

    answers = list(routed(unskew.grouping("waterline", 2).build(), iter(batches)))

    assert [len(answer) for answer in answers] == lengths
