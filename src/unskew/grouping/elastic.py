"""Workers that differ, change, come and go: capacities, resizing, and what workers report.

A grouping with the trait ``ELASTIC`` extends `ElasticGrouping`, its router `ElasticRouter`.

Resizing makes another router and leaves the one at hand as it is: on Spark the controller makes it
for the next batch, and all sources take it up together. Worker ids are 0 to n - 1, so shrinking
takes the last workers away. Routes already made are never revised.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from unskew.checks import check_capacities, check_whole
from unskew.errors import InvalidInputError
from unskew.grouping.base import Grouping, Router
from unskew.hashing.candidates import MAX_WORKERS
from unskew.typing import AnyArray, Loads


@dataclass(frozen=True, slots=True)
class ElasticGrouping(Grouping):
    """A scheme that takes capacities and can be resized."""

    capacities: tuple[float, ...] | None = None
    """The relative speed of each worker; all alike if None."""

    def __post_init__(self) -> None:
        """Check the capacities besides what all groupings check."""
        Grouping.__post_init__(self)
        self._settle("capacities", check_capacities(self.capacities, self.n_workers))

    @property
    def shares(self) -> Loads:
        """Of the whole load, the share that each worker is to have."""
        speeds = np.ones(self.n_workers) if self.capacities is None else np.array(self.capacities)
        shares: Loads = speeds / speeds.sum()
        return shares

    def resize(self, n_workers: int, capacities: Sequence[float] | None = None) -> Self:
        """Return the same scheme for another number of workers, or for other capacities.

        Without new capacities, fewer workers keep theirs; where the old ones differ, more workers
        must be given all of theirs.
        """
        n = check_whole("n_workers", n_workers, 2, MAX_WORKERS)
        return dataclasses.replace(self, n_workers=n, capacities=self._capacities_of(n, capacities))

    def _capacities_of(self, n_workers: int, given: Any) -> Any:
        """Return the capacities given for so many workers, or what is known of them."""
        if given is not None or self.capacities is None:
            return given
        if n_workers > self.n_workers:
            raise InvalidInputError(
                "capacities",
                f"are known for {self.n_workers} workers only",
                f"pass those of all {n_workers}",
            )
        return self.capacities[:n_workers]


class ElasticRouter(Router):
    """A router that goes on with other workers."""

    grouping: ElasticGrouping

    def resize(self, n_workers: int, capacities: Sequence[float] | None = None) -> Self:
        """Return a router for another number of workers that goes on from here."""
        return self._resized(self.grouping.resize(n_workers, capacities))

    @abstractmethod
    def _resized(self, grouping: Any) -> Self:
        """Return a router of the resized grouping, with what of the state still holds."""


def carried(old: AnyArray, n_workers: int, fill: float) -> AnyArray:
    """Return an array with one number a worker for another number of workers."""
    new = np.full(n_workers, fill, old.dtype)
    new[: min(len(old), n_workers)] = old[:n_workers]
    return new
