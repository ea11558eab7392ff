"""What aggregators give, in plain Python: one key, its values in a list, None for null."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise


def present(values):
    return [value for value in values if value is not None]


def count(values):
    return len(present(values))


def total(values):
    """Sum; None if there is nothing to add."""
    return sum(present(values)) if present(values) else None


def mean(values):
    held = present(values)
    return sum(map(float, held)) / len(held) if held else None


def variance(values, population):
    """Exact, from fractions; NaN where a value is no finite number."""
    held = present(values)
    freedom = len(held) if population else len(held) - 1
    if freedom < 1:
        return None
    if not all(map(math.isfinite, held)):
        return math.nan
    exact = [Fraction(value) for value in held]
    centre = sum(exact) / len(exact)
    return float(sum((value - centre) ** 2 for value in exact) / freedom)


class Summary:
    """SpaceSaving as TopK has it: counters {value: (count, error)} and the total.

    Metwally et al. 2005 for what holds; Cafaro et al. 2016 for the merge.
    """

    def __init__(self, capacity, counters, seen):
        heaviest = sorted(counters.items(), key=lambda item: (-item[1][0], item[0]))
        self.capacity = capacity
        self.counters = dict(heaviest[:capacity])
        self.seen = seen

    @classmethod
    def of(cls, capacity, values):
        counted = Counter(present(values))
        return cls(capacity, {v: (n, 0) for v, n in counted.items()}, counted.total())

    @classmethod
    def merged(cls, capacity, summaries):
        values = {value for each in summaries for value in each.counters}
        counters = {}
        for value in values:
            pairs = [each.counters.get(value, (each.missed(),) * 2) for each in summaries]
            counters[value] = tuple(map(sum, zip(*pairs, strict=True)))
        return cls(capacity, counters, sum(each.seen for each in summaries))

    def missed(self):
        """How often a value may have been seen that has no counter."""
        if len(self.counters) < self.capacity:
            return 0
        certain = sum(n - error for n, error in self.counters.values())
        return min(*(n for n, _ in self.counters.values()), self.seen - certain)

    def top(self, k):
        return [
            {"value": value, "count": n, "error": error}
            for value, (n, error) in list(self.counters.items())[:k]
        ]


def merge_closest(bins, limit):
    """Merge the closest of [(centre, count)] until there are few enough.

    Ben-Haim and Tom-Tov, JMLR 2010, algorithm 2; the leftmost among equally close.
    """
    added = Counter()
    for centre, n in bins:
        added[centre] += n
    bins = sorted(added.items())
    while len(bins) > limit:
        gaps = [right[0] - left[0] for left, right in pairwise(bins)]
        at = gaps.index(min(gaps))
        (p, m), (q, k) = bins[at : at + 2]
        middle = p * (m / (m + k)) + q * (k / (m + k))
        bins[at : at + 2] = [(min(max(middle, p), q), m + k)]
    return bins


def count_up_to(low, bins, high, point):
    """Algorithm 3 of the same: the area of trapezoids, with empty bins at both ends."""
    if point < low:
        return 0.0
    if point >= high:
        return float(sum(n for _, n in bins))
    padded = [(low, 0), *bins, (high, 0)]
    at = max(i for i, (centre, _) in enumerate(padded) if centre <= point)
    (p, m), (q, k) = padded[at], padded[at + 1]
    share = (point - p) / (q - p)
    height = m + (k - m) * share
    return (m + height) / 2 * share + sum(n for _, n in padded[:at]) + m / 2


def classify(documents, document, smoothing):
    """Naive Bayes as in CG sec. 3: [(label, words)] to train on; logarithms of all labels."""
    labels = {label for label, _ in documents}
    vocabulary = {word for _, words in documents for word in words}
    scores = {}
    for label in labels:
        own = [words for other, words in documents if other == label]
        counted = Counter(word for words in own for word in words)
        scores[label] = math.log(len(own) / len(documents))
        for word in document:
            if word in vocabulary:
                likely = (counted[word] + smoothing) / (
                    counted.total() + smoothing * len(vocabulary)
                )
                scores[label] += math.log(likely)
    return scores
