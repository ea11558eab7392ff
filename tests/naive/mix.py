"""SplitMix64 mixing and the fixed candidate sequence F_1(k), F_2(k), ... of a key.

2CNE III-B calls for d independent hash functions F_1..F_d. Deviation (design.md, sec. 2): the
candidates of one key are distinct workers, a keyed permutation computed one element at a time.
"""

from __future__ import annotations

MASK64 = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x: int) -> int:
    """The finalizer of SplitMix64: a bijection of [0, 2**64).

    >>> hex(mix(GOLDEN))  # the first output of SplitMix64 seeded with 0
    '0xe220a8397b1dcdaf'
    """
    x &= MASK64
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK64
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK64
    x ^= x >> 31
    return x


def spread(h: int, seed: int) -> int:
    """Mix a hash with a seed; for one seed a bijection of [0, 2**64)."""
    return mix(h + seed * GOLDEN)


def candidates(h: int, d: int, seed: int, n: int) -> list[int]:
    """Return the first ``d`` workers of the key's fixed sequence; growing d only adds.

    >>> sorted(candidates(42, 7, seed=0, n=7))
    [0, 1, 2, 3, 4, 5, 6]
    >>> candidates(42, 7, seed=0, n=7)[:3] == candidates(42, 3, seed=0, n=7)
    True
    """
    if not 0 <= d <= n:
        raise ValueError(f"d is {d}; expected at most n = {n}, there are no more distinct workers")
    m = spread(h, seed)
    first = (m >> 32) * n >> 32
    rest = [(first + 1 + _permuted(i, m, n - 1)) % n for i in range(n - 1)]
    return [first, *rest][:d]


def _permuted(i: int, m: int, length: int) -> int:
    """Return r_i, element i of the permutation of ``range(length)`` that ``m`` keys.

    pi is a bijection of ``range(prime)``, since its step is not 0 modulo a prime; walking it until
    it is back below ``length`` (the first-return map) is a bijection of ``range(length)``.
    """
    prime = max(2, length)
    while any(prime % divisor == 0 for divisor in range(2, prime)):
        prime += 1
    r0 = (m & 0xFFFFFFFF) * length >> 32
    step = 1 + ((mix(m) >> 32) * (prime - 1) >> 32)
    i = (r0 + i * step) % prime
    while i >= length:
        i = (r0 + i * step) % prime
    return i
