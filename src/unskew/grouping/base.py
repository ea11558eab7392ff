"""The contract of a grouping.

A *grouping* is a scheme with its settings: frozen, small, and picklable, so that it travels to
every source. ``build()`` makes a *router*, the grouping at work on one source, which holds the
state. ``router.route(hashes)`` gives each tuple a worker, a whole batch a call.

What a router promises, and `unskew.testing.check_grouping` holds it to:

- every tuple gets exactly one worker in [0, n_workers);
- the same grouping, snapshot, source and tuples give the same routes, on any machine, however
  the tuples are cut into batches; a scheme that looks ahead decides a *block* of tuples together,
  counted from the begin of each call, and there the stream may be cut at multiples of
  ``grouping.block``;
- ``route(a); route(b)`` gives b the same routes as ``route(a)``, ``snapshot()``,
  ``build(resume=...)``, ``route(b)``;
- what it holds does not grow with the number of keys;
- a call that raises has changed nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Flag, auto
from typing import ClassVar

from unskew.checks import check_whole
from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.grouping.snapshot import Snapshot
from unskew.hashing.arrays import as_hashes, as_times, as_weights, check_arrays
from unskew.hashing.candidates import MAX_WORKERS
from unskew.hashing.mix import GOLDEN
from unskew.typing import AnyArray, KeyHashes, Weights, Workers


class Trait(Flag):
    """What the users of a grouping must know of it."""

    NONE = 0
    SPLITS_KEYS = auto()
    """Tuples of one key may go to several workers, so their partials must be merged."""
    ORDER_DEPENDENT = auto()
    """A route depends on the tuples before it, not on the key alone."""
    COMPILED = auto()
    """Routing needs a compiled kernel, and so Numba in the process."""
    ELASTIC = auto()
    """Workers may differ in capacity, and come and go: see `unskew.grouping.elastic`."""


@dataclass(frozen=True, slots=True)
class GroupingSpec:
    """Name, source and traits of a scheme."""

    name: str
    cites: str
    traits: Trait


@dataclass(frozen=True, slots=True)
class Grouping(ABC):
    """A scheme with its settings. Subclasses add theirs as fields with defaults."""

    spec: ClassVar[GroupingSpec]
    n_workers: int
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings; subclasses call this and go on with their own."""
        self._settle("n_workers", check_whole("n_workers", self.n_workers, 2, MAX_WORKERS))
        self._settle("seed", check_whole("seed", self.seed, 0, 2**64 - 1))

    def _settle(self, name: str, value: object) -> None:
        """Put a checked setting in the place of what was given, a NumPy number perhaps."""
        object.__setattr__(self, name, value)

    def build(self, resume: Snapshot | None = None, source: int = 0) -> Router:
        """Start a router on one source, from nothing or from a snapshot.

        ``source`` tells the sources of one stream apart (on Spark it is the partition id): a
        scheme that takes workers in turn starts each source at another worker, so that many
        short sources do not all begin with worker 0.
        """
        router = self._start(check_whole("source", source, 0, 2**63 - 1))
        if resume is not None:
            if not isinstance(resume, Snapshot):
                raise InvalidTypeError(
                    "resume", f"a {type(resume).__name__}", "pass what router.snapshot() returned"
                )
            resume.must_fit(self.spec.name, self.n_workers)
            router.restore(resume.arrays)
        return router

    @property
    def block(self) -> int:
        """How many tuples are decided together: give a router that many at once, if it can be.

        1 for a scheme that decides tuple by tuple. A call with fewer is a block by itself, so a
        stream that is cut elsewhere is routed just as lawfully, but not in the same way.
        """
        return 1

    @property
    def splits_keys(self) -> bool:
        """Whether tuples of one key may go to several workers."""
        return Trait.SPLITS_KEYS in self.spec.traits

    @property
    def workers_per_key(self) -> int:
        """On how many workers the tuples of one key can end up, from one source."""
        return self.n_workers if self.splits_keys else 1

    @abstractmethod
    def _start(self, source: int) -> Router:
        """Return a router that has seen nothing."""


class Router(ABC):
    """A grouping at work on one source.

    ``state`` names the arrays that a snapshot carries; everything else a subclass keeps must
    follow from them.
    """

    def __init__(self, grouping: Grouping, state: dict[str, AnyArray]) -> None:
        self.grouping = grouping
        self._state = state

    def route(
        self,
        hashes: KeyHashes,
        weights: AnyArray | None = None,
        times: AnyArray | float | None = None,
    ) -> Workers:
        """Give every tuple a worker, in order.

        ``hashes`` are 64-bit key hashes (`unskew.hashing.hash_keys`, or Spark's ``xxhash64``).
        ``weights`` says what each tuple costs, where the scheme counts load; 1 if not given.
        ``times`` says when each tuple came, or all of them, in seconds from any fixed moment, where
        the scheme has a clock; if not given, its clock stands still.
        """
        checked = as_hashes(hashes)
        if not len(checked):
            raise InvalidInputError("hashes", "is empty", "pass at least one tuple")
        costs = as_weights(weights, len(checked))
        return self._route_at(checked, costs, as_times(times, len(checked)))

    def snapshot(self) -> Snapshot:
        """Return what ``grouping.build(resume=...)`` needs to go on from here."""
        arrays = {name: array.copy() for name, array in self._state.items()}
        return Snapshot(self.grouping.spec.name, self.grouping.n_workers, arrays)

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take over the state of a snapshot; checked whole before anything is changed."""
        check_arrays(arrays, self._state)
        for name, array in self._state.items():
            array[:] = arrays[name]

    def _route_at(
        self,
        hashes: KeyHashes,
        weights: Weights,
        times: Weights,  # noqa: ARG002 - most schemes have no clock
    ) -> Workers:
        """Route a checked batch; for the few schemes that have a clock."""
        return self._route(hashes, weights)

    @abstractmethod
    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        """Route a checked batch."""


def first_turn(source: int, n_workers: int) -> int:
    """Return the worker a source starts with, so that any number of sources start well apart."""
    return int((source * int(GOLDEN) & 0xFFFFFFFFFFFFFFFF) * n_workers >> 64)
