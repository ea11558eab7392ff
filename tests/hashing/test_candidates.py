import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive.mix import candidates
from unskew.errors import InvalidParameterError
from unskew.hashing.candidates import (
    candidate,
    first_of,
    inside,
    prime_for,
    second_offset,
    step_of,
    worker_behind,
)
from unskew.hashing.mix import salt_of, spread

HASHES = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8)
SEEDS = st.integers(0, 2**64 - 1)
# 1, 2 and 3 workers leave no room for the walk; 4, 8 and 14 put n - 1 on a prime.
SIZES = st.sampled_from([1, 2, 3, 4, 8, 14]) | st.integers(1, 60)


def words(values):
    return np.array(values, np.uint64)


def sequences(hashes, seed, n):
    """All candidates of each key, a row a key."""
    return np.column_stack([candidate(hashes, i, seed, n) for i in range(n)])


def random_hashes(count, seed=0):
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


@given(HASHES, SEEDS, SIZES)
def test_the_sequence_equals_its_twin(hashes, seed, n):
    expected = [candidates(h, n, seed, n) for h in hashes]

    assert sequences(words(hashes), seed, n).tolist() == expected


@pytest.mark.parametrize("n", [255, 257, 398])
def test_the_sequence_equals_its_twin_for_hundreds_of_workers(n):
    hashes = random_hashes(3, seed=n)

    assert sequences(hashes, 5, n).tolist() == [
        candidates(h, n, seed=5, n=n) for h in hashes.tolist()
    ]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 10, 97, 100, 256])
def test_the_candidates_of_a_key_are_all_workers_each_once(n):
    rows = sequences(random_hashes(500), 0, n)

    assert rows.dtype == np.int32
    assert (np.sort(rows, axis=1) == np.arange(n)).all()


def test_growing_d_only_adds_workers():
    # The twin takes d: what it gives for a small d is how the sequence for a larger one begins.
    hashes = random_hashes(50)
    rows = sequences(hashes, 9, 12)

    for d in range(13):
        assert rows[:, :d].tolist() == [candidates(h, d, 9, 12) for h in hashes.tolist()]


def test_a_key_at_the_edge_of_a_chunk_gets_the_candidates_it_gets_alone():
    # More keys than one pass of the vectorised code takes, and not a multiple of it.
    hashes = random_hashes(20_001)
    sample = [0, 8_191, 8_192, 8_193, 16_383, 16_384, 20_000]

    for i in (0, 1, 5):
        together = candidate(hashes, i, 3, 10)[sample]
        alone = [candidate(hashes[[at]], i, 3, 10)[0] for at in sample]
        assert together.tolist() == alone


def chi_square(observed, expected):
    return ((observed - expected) ** 2 / expected).sum()


def improbable(cells):
    """A bound that chi-square of this many cells passes about once in a million."""
    freedom = cells - 1
    return freedom + 5 * np.sqrt(2 * freedom) + 12


@pytest.mark.parametrize("n", [2, 5, 10, 100])
@pytest.mark.parametrize("seed", [0, 1, 12345])
@pytest.mark.parametrize("keys", ["random", "consecutive"])
def test_the_first_candidate_is_uniform_over_the_workers(n, seed, keys):
    # Consecutive keys have next to no entropy in their high half before they are mixed.
    hashes = random_hashes(100_000) if keys == "random" else np.arange(100_000, dtype=np.uint64)

    counts = np.bincount(candidate(hashes, 0, seed, n), minlength=n)

    assert chi_square(counts, 100_000 / n) < improbable(n)


@pytest.mark.parametrize("n", [3, 5, 10, 30])
@pytest.mark.parametrize("seed", [0, 7])
def test_the_second_candidate_is_uniform_over_the_other_workers(n, seed):
    hashes = np.arange(200_000, dtype=np.uint64)
    first, second = (candidate(hashes, i, seed, n) for i in (0, 1))

    pairs = np.bincount(first * n + second, minlength=n * n).reshape(n, n)

    assert (np.diag(pairs) == 0).all()
    others = pairs[~np.eye(n, dtype=bool)]
    assert chi_square(others, 200_000 / len(others)) < improbable(len(others))


def test_another_seed_draws_the_first_candidate_anew():
    n = 10
    hashes = np.arange(100_000, dtype=np.uint64)
    one, other = (candidate(hashes, 0, seed, n) for seed in (0, 1))

    pairs = np.bincount(one * n + other, minlength=n * n)

    assert chi_square(pairs, 1_000) < improbable(n * n)


@given(HASHES, SEEDS, st.sampled_from([2, 3, 4, 8, 9, 14, 15]) | st.integers(2, 200))
def test_the_walk_of_the_kernels_gives_the_same_sequence(hashes, seed, n):
    size, prime = np.uint64(n), prime_for(n)
    mixed = spread(words(hashes), salt_of(seed))
    firsts, starts = first_of(mixed, size), second_offset(mixed, size)
    steps = step_of(mixed, prime)

    walked = []
    for first, start, step in zip(firsts, starts, steps, strict=True):
        row, walk = [int(first)], start
        for _ in range(n - 1):
            offset = np.uint64(inside(walk, start, step, prime, size))
            row.append(int(worker_behind(first, offset, size)))
            walk = (walk + step) % prime
        walked.append(row)

    assert walked == sequences(words(hashes), seed, n).tolist()


@pytest.mark.parametrize(
    ("n", "prime"),
    [(1, 2), (2, 2), (3, 2), (4, 3), (5, 5), (6, 5), (9, 11), (101, 101), (102, 101)],
)
def test_the_walk_has_the_first_prime_not_below_the_number_of_others(n, prime):
    assert prime_for(n) == prime


@pytest.mark.parametrize("n", [0, -3])
def test_no_workers_are_refused_with_the_value(n):
    with pytest.raises(InvalidParameterError, match=f"`n` is {n};"):
        candidate(words([1]), 0, 0, n)


@pytest.mark.parametrize("i", [-1, 4, 99])
def test_a_position_beyond_the_workers_is_refused_with_the_value(i):
    with pytest.raises(InvalidParameterError, match=rf"`i` is {i}; .*\[0, 4\)"):
        candidate(words([1]), i, 0, 4)


def test_no_keys_have_no_candidates():
    assert candidate(words([]), 0, 0, 4).tolist() == []
