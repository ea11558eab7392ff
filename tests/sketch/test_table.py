import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sketch.dyadic import lists
from unskew.hashing.mix import GOLDEN
from unskew.sketch.table import EMPTY, find, index, insert, new_table, remove


def home(key, size):
    """Where a key lies in a table of this size if nothing is in its way."""
    return (key * int(GOLDEN) % 2**64 >> 32) % size


def keys_at_home(place, size, count):
    """The first keys that all want the same place."""
    return [key for key in range(4_000) if home(key, size) == place][:count]


SLOTS = 6
SIZE = len(new_table(SLOTS))
# Neighbouring homes that run around the end of the table, and keys from anywhere.
CROWD = [
    *keys_at_home(SIZE - 2, SIZE, 3),
    *keys_at_home(SIZE - 1, SIZE, 3),
    *keys_at_home(0, SIZE, 3),
    *range(2**64 - 4, 2**64),
]


@given(lists(st.tuples(st.sampled_from(CROWD), st.integers(0, SLOTS - 1)), max_size=60))
def test_it_finds_what_a_dict_finds(steps):
    table, keys = new_table(SLOTS), np.zeros(SLOTS, np.uint64)
    held: dict[int, int] = {}
    for key, slot in steps:
        # As a sketch does: the slot's old key leaves, then a new one enters.
        if slot in held.values():
            remove(table, keys, np.int64(slot))
            held = {other: at for other, at in held.items() if at != slot}
        if key not in held:
            keys[slot] = key
            insert(table, np.uint64(key), np.int64(slot))
            held[key] = slot
        found = {other: find(table, keys, np.uint64(other)) for other in CROWD}
        assert found == {other: held.get(other, -1) for other in CROWD}


def test_a_table_that_was_emptied_key_by_key_is_as_new():
    # No tombstones: otherwise look-ups would slow down for ever.
    table, keys = new_table(100), np.arange(100, dtype=np.uint64) * np.uint64(7)
    for slot in range(100):
        insert(table, keys[slot], np.int64(slot))

    for slot in np.random.default_rng(0).permutation(100):
        remove(table, keys, slot)

    assert (table == EMPTY).all()


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 5, 63, 64, 65, 1000])
def test_a_table_is_at_most_half_full(slots):
    # A full one would make a search for an absent key endless.
    size = len(new_table(slots))

    assert size >= 2 * slots
    assert size & (size - 1) == 0, "the home of a key is found by masking"


def test_a_table_made_anew_has_the_first_keys_and_nothing_else():
    table, keys = new_table(SLOTS), np.array(CROWD[:SLOTS], np.uint64)
    for slot in range(SLOTS):
        insert(table, keys[slot], np.int64(slot))

    index(table, keys, 4)

    assert [find(table, keys, key) for key in keys] == [0, 1, 2, 3, -1, -1]
