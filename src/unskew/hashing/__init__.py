"""Key hashes, the 64-bit mix, and the fixed sequence of workers that a key looks at."""

from unskew.hashing.candidates import candidate
from unskew.hashing.keys import hash_keys
from unskew.hashing.mix import mix

__all__ = ["candidate", "hash_keys", "mix"]
