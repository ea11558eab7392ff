"""Files of text, compressed or not, and what CSV in them needs to be read as it was meant."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
from pathlib import Path

import numpy as np

_READABLE = (".gz", ".bz2")
COMPRESSED = (*_READABLE, ".zst", ".lz4", ".snappy", ".deflate")
_SEPARATORS = (",", ";", "\t", "|")
_CHUNK = 1 << 24


def is_readable(file: Path) -> bool:
    """Say whether a file can be looked into without Spark."""
    suffix = file.suffix.lower()
    return suffix in _READABLE or suffix not in COMPRESSED


def opened(file: Path) -> io.BufferedIOBase:
    """Open a file, and decompress it."""
    if file.suffix.lower() == ".gz":
        return gzip.open(file)
    return bz2.open(file) if file.suffix.lower() == ".bz2" else file.open("rb")


def separator_of(header: str) -> str:
    """Return what separates columns: a comma, or where there is none what else does.

    >>> separator_of("key;n"), separator_of("key,n;m"), separator_of('"a;b"'), separator_of("key")
    (';', ',', ',', ',')
    """
    found = (each for each in _SEPARATORS if len(next(csv.reader([header], delimiter=each))) > 1)
    return next(found, ",")


def has_lines_in_quotes(file: Path) -> bool:
    """Say whether quotes of CSV enclose the end of a line, so that a row has several.

    Spark splits large files for reading where no row has, so it is told only if one has. Where
    quotes are not in pairs they mean something else, and lines are the better guess.
    """
    if not is_readable(file):
        return True  # of such a file Spark reads no parts
    inside, found = False, False
    with opened(file) as content:
        while chunk := content.read(_CHUNK):
            if b'"' not in chunk:
                found |= inside and b"\n" in chunk
                continue
            text = np.frombuffer(chunk, np.uint8)
            quotes = np.cumsum(text == ord('"'), dtype=np.uint8)  # it wraps around, and stays odd
            odd = (quotes + inside) % 2 == 1
            found |= bool((odd & (text == ord("\n"))).any())
            inside = bool(odd[-1])
    return found and not inside
