import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import xxhash as naive
from unskew.hashing.arrays import as_readonly
from unskew.hashing.xxhash64 import hash_bytes, hash_ints, hash_longs

WORDS = st.integers(0, 2**64 - 1)


def hashed(texts, seeds):
    """Hash byte strings that lie behind one another, as in an Arrow column."""
    data = np.frombuffer(b"".join(texts), np.uint8)
    ends = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    out = np.zeros(len(texts), np.uint64)
    hash_bytes(as_readonly(data), as_readonly(ends), as_readonly(np.array(seeds, np.uint64)), out)
    return out.tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_published_hashes_are_met(text, expected):
    assert hashed([text], [0]) == [expected]


@pytest.mark.parametrize("seed", [0, 42, 2**64 - 1])
def test_every_length_up_to_100_equals_the_twin(seed):
    # 0 to 100 passes every branch: the lanes of 32, then steps of 8, 4 and 1.
    random = np.random.default_rng(seed % 1000)
    texts = [random.bytes(length) for length in range(101)]

    assert hashed(texts, [seed] * 101) == [naive.hash_bytes(text, seed) for text in texts]


@given(st.lists(st.tuples(st.binary(max_size=150), WORDS), max_size=10))
def test_each_text_is_hashed_under_its_own_seed(rows):
    texts, seeds = [text for text, _ in rows], [seed for _, seed in rows]

    assert hashed(texts, seeds) == [naive.hash_bytes(text, seed) for text, seed in rows]


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), WORDS), max_size=20))
def test_ints_equal_the_twin(rows):
    words, seeds = np.array(rows, np.uint64).reshape(-1, 2).T

    assert hash_ints(words, seeds).tolist() == [naive.hash_int(word, seed) for word, seed in rows]


@given(st.lists(st.tuples(WORDS, WORDS), max_size=20))
def test_longs_equal_the_twin(rows):
    words, seeds = np.array(rows, np.uint64).reshape(-1, 2).T

    assert hash_longs(words, seeds).tolist() == [naive.hash_long(word, seed) for word, seed in rows]


def test_offsets_may_begin_behind_the_start_of_the_data():
    data = as_readonly(np.frombuffer(b"skipped" + b"abc" + b"rest", np.uint8))
    out = np.zeros(1, np.uint64)

    hash_bytes(data, as_readonly(np.array([7, 10])), as_readonly(np.zeros(1, np.uint64)), out)

    assert out[0] == naive.hash_bytes(b"abc", 0)
