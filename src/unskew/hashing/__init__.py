"""Key hashes, the 64-bit mix, the fixed sequence of workers that a key looks at, and the ring."""

from unskew.hashing.candidates import candidate
from unskew.hashing.keys import hash_keys
from unskew.hashing.mix import mix
from unskew.hashing.ring import Ring

__all__ = ["Ring", "candidate", "hash_keys", "mix"]
