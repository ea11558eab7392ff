"""SpaceSaving (Metwally et al., ICDT 2005), the head finder of 2CNE III-A, and its merge."""

from __future__ import annotations


class SpaceSaving:
    """At most ``capacity`` counted keys; count - error <= true weight <= count for each of them.

    Slots are filled in order of arrival; a newcomer to a full sketch takes over the slot with the
    least (count, slot index), together with its count.

    >>> sketch = SpaceSaving(2)
    >>> for key in (7, 7, 8, 9):
    ...     sketch.update(key)
    >>> sketch.tracked()
    {7: (2.0, 0.0), 9: (2.0, 1.0)}
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity is {capacity}; expected at least 1")
        self.capacity = capacity
        self.total = 0.0
        self.keys: list[int] = []
        self.counts: list[float] = []
        self.errors: list[float] = []

    def update(self, key: int, weight: float = 1.0) -> None:
        """Count one tuple; weight 0 changes nothing."""
        if weight < 0:
            raise ValueError(f"weight is {weight}; expected at least 0")
        if weight == 0:
            return
        self.total += weight
        if key in self.keys:
            self.counts[self.keys.index(key)] += weight
        elif len(self.keys) < self.capacity:
            self.keys.append(key)
            self.counts.append(weight)
            self.errors.append(0.0)
        else:
            least = min(self.counts)
            slot = self.counts.index(least)  # the first of equals
            self.keys[slot] = key
            self.counts[slot] = least + weight
            self.errors[slot] = least

    def count(self, key: int) -> float:
        """The (over)count of a key, 0.0 if it is not tracked."""
        return self.tracked().get(key, (0.0, 0.0))[0]

    def error(self, key: int) -> float:
        """How much of the count may be another key's, 0.0 if it is not tracked."""
        return self.tracked().get(key, (0.0, 0.0))[1]

    def tracked(self) -> dict[int, tuple[float, float]]:
        """Every tracked key with its (count, error), in slot order."""
        return {k: (c, e) for k, c, e in zip(self.keys, self.counts, self.errors, strict=True)}

    def heavy(self, theta: float) -> list[int]:
        """The head: tracked keys with count >= theta * total, in slot order (2CNE III-A)."""
        return [key for key, (count, _) in self.tracked().items() if count >= theta * self.total]

    def minimum(self) -> float:
        """What an untracked key may have weighed at most: the least count if full, else 0."""
        return min(self.counts) if len(self.keys) == self.capacity else 0.0


def merge(a: SpaceSaving, b: SpaceSaving) -> SpaceSaving:
    """One sketch of both streams (Berinde et al. in 2CNE III-A; Agarwal et al., PODS 2012).

    A key that a full sketch does not track may have had up to that sketch's minimum there. The
    ``capacity`` largest counts stay, ties by key ascending; that is also their order in the slots.

    >>> a, b = SpaceSaving(2), SpaceSaving(2)
    >>> for key in (1, 1, 1, 2):
    ...     a.update(key)
    >>> b.update(3)
    >>> merge(a, b).tracked()
    {1: (3.0, 0.0), 3: (2.0, 1.0)}
    """
    if a.capacity != b.capacity:
        raise ValueError(f"capacities are {a.capacity} and {b.capacity}; expected equal ones")
    rows: list[tuple[float, int, float]] = []
    for key in {*a.keys, *b.keys}:
        count = error = 0.0
        for sketch in (a, b):
            absent = (sketch.minimum(), sketch.minimum())
            more_count, more_error = sketch.tracked().get(key, absent)
            count += more_count
            error += more_error
        rows.append((-count, key, error))
    merged = SpaceSaving(a.capacity)
    merged.total = a.total + b.total
    for minus_count, key, error in sorted(rows)[: a.capacity]:
        merged.keys.append(key)
        merged.counts.append(-minus_count)
        merged.errors.append(error)
    return merged
