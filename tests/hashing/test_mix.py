import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import mix as naive
from unskew.hashing.mix import GOLDEN, mix, salt_of, spread

WORDS = st.lists(st.integers(0, 2**64 - 1), max_size=50)
SEEDS = st.integers(-(2**70), 2**70)


def words(values):
    return np.array(values, np.uint64)


@given(WORDS)
def test_the_mix_equals_its_twin(values):
    assert mix(words(values)).tolist() == [naive.mix(value) for value in values]


def test_the_mix_gives_the_published_stream_of_splitmix64():
    # Steele, Lea and Flood: the state steps by GOLDEN from the seed, here 0.
    states = np.arange(1, 4, dtype=np.uint64) * GOLDEN

    assert [hex(word) for word in mix(states).tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


def test_any_one_bit_of_the_input_changes_about_half_the_bits_of_the_result():
    inputs = np.random.default_rng(1).integers(0, 2**64, 2_000, np.uint64)

    for bit in range(64):
        changed = mix(inputs) ^ mix(inputs ^ np.uint64(1 << bit))
        flips = (changed[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
        # Five standard deviations of a fair coin tossed 2,000 times are 0.056.
        assert np.abs(flips.mean(axis=0) - 0.5).max() < 0.06, bit


def test_consecutive_words_do_not_collide():
    mixed = mix(np.arange(100_000, dtype=np.uint64))

    assert len(np.unique(mixed)) == 100_000


@given(WORDS, SEEDS)
def test_spread_equals_its_twin_for_any_seed(values, seed):
    expected = [naive.spread(value, seed) for value in values]

    assert spread(words(values), salt_of(seed)).tolist() == expected


def test_seed_0_adds_nothing():
    assert salt_of(0) == 0


def test_another_seed_gives_every_key_an_unrelated_word():
    keys = np.arange(20_000, dtype=np.uint64)
    first, second = (spread(keys, salt_of(seed)) for seed in (0, 1))

    assert (first != second).all()
    # 64 fair bits agree in 32, and the mean over 20,000 keys hardly strays from it.
    agreeing = 64 - np.bitwise_count(first ^ second)
    assert abs(agreeing.mean() - 32) < 0.15


def test_the_input_is_left_as_it_is():
    values = words([1, 2, 3])

    mix(values)
    spread(values, salt_of(7))

    assert values.tolist() == [1, 2, 3]
