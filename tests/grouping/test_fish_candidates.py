import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.naive.ring import Ring as NaiveRing
from unskew.grouping.fish_candidates import forget_levels, least_busy, less_busy_of_two, new_lists
from unskew.hashing.mix import mix, salt_of, spread
from unskew.hashing.ring import Ring
from unskew.sketch.least import least, new_order, renew

KEYS = mix(np.arange(4, dtype=np.uint64))
POSITIONS = spread(KEYS, salt_of(0))


@given(
    n=st.integers(3, 12),
    turn=st.integers(0, 11),
    whole=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_it_is_the_first_clockwise_of_those_that_wait_least(n, turn, whole, seed):
    random, turn = np.random.default_rng(seed), turn % n
    circle, naive = Ring(range(n), points=3).circle, NaiveRing(range(n), points=3)
    waiting, order, lists = np.zeros(n), new_order(n), new_lists(n, len(KEYS))
    for step in range(150):  # lists of other lengths come so often that the store is full at times
        if step % 40 == 39:  # the clock moves
            waiting[:] = np.maximum(0, waiting - random.integers(0, 5, n))
            renew(order, waiting)
            forget_levels(lists)
        if step % 5 == 0:  # a key that may go anywhere
            waiting[least(waiting, order)] += 1.0
        slot = random.integers(len(KEYS))
        d = int(random.integers(2, n)) if slot else min(3, n - 1)
        position = POSITIONS[slot]
        if d == 2:
            chosen = less_busy_of_two(circle, position, np.int64(turn), waiting)
        else:
            chosen = least_busy(
                lists, circle, position, np.int64(turn), np.int64(d), slot, waiting, order
            )
        clockwise = list(dict.fromkeys(naive.clockwise(int(KEYS[slot]))))[:d]
        indexes = [(worker - turn) % n for worker in clockwise]
        assert chosen == min(indexes, key=lambda index: waiting[index])
        waiting[chosen] += 1.0 if whole else random.random()
        if not whole:
            renew(order, waiting)
