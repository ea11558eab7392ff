"""Consistent Grouping (CG): keys on virtual workers, which move to the workers that have room."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from unskew.checks import check_flag, check_number, check_whole
from unskew.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from unskew.grouping.base import Grouping, GroupingSpec, Router, Trait
from unskew.grouping.elastic import ElasticGrouping, ElasticRouter
from unskew.grouping.snapshot import Snapshot
from unskew.grouping.virtual_workers import BUSY, IDLE, VirtualWorkers
from unskew.hashing.arrays import check_arrays
from unskew.hashing.candidates import MAX_WORKERS
from unskew.typing import AnyArray, KeyHashes, Weights, Workers

THETA_B, THETA_I = 0.85, 0.75
"""Utilisation from which on a worker is busy, and up to which it is idle (CG sec. 7.2)."""


def signal(
    utilisation: Any, theta_b: float = THETA_B, theta_i: float = THETA_I
) -> npt.NDArray[np.int8]:
    """Return all that a worker says of its utilisation: 1 busy, -1 idle, 0 nothing.

    The worker's side of CG (worker delegation, sec. 5.3), for one worker or an array of them.
    Utilisation is load / capacity in any measure, such as busy time or the length of the queue.

    >>> signal([0.2, 0.8, 1.3]).tolist()
    [-1, 0, 1]
    """
    used = np.asarray(utilisation)
    return np.where(used >= theta_b, BUSY, np.where(used <= theta_i, IDLE, 0)).astype(np.int8)


@dataclass(frozen=True, slots=True)
class ConsistentGrouping(ElasticGrouping):
    """Route onto many equal virtual workers, and let busy workers pass theirs on to idle ones.

    CG sec. 5.2. A source does not know how fast workers are. It spreads the tuples evenly over
    alpha virtual workers a worker, by any scheme that does (``inner``; CG uses PoRC), and learns
    from one bit that workers send when they have too much or too little to do: `signal` is the
    worker's side, ``router.observe(signals=..., now=...)`` the source's, called when results come
    back (piggybacking). One signal of a worker in each ``t_0`` seconds is heeded. The queues and
    the pairing are in `unskew.grouping.virtual_workers`.

    If no virtual worker has more than 1 + gamma times their average, as epsilon of PoRC sees to,
    a worker whose share of the load is at least theta_b times its share of the capacity owns at
    least theta_b / (1 + gamma) times the virtual workers it should (CG sec. 6.1.2): who says that
    it is busy has no claim to more.

    Deviations. Virtual workers are not placed on a circle, as nothing looks for the nearest one.
    They number alpha a worker, as in CG's experiments, not O(log n), and their number stays when
    workers come and go, or all keys would move. The thresholds are those of the experiments, in
    terms of utilisation; in sec. 6.1.2, where the whole load equals the whole capacity, theta_b is
    above 1. Only idle workers take any, as in sec. 5.2.1; ``probe`` adds what sec. 6.1.2 says of
    workers that have not spoken, which is needed where workers are used more than theta_i on
    average.

    >>> router = ConsistentGrouping(n_workers=2, alpha=2, inner="key").build()
    >>> keys = np.arange(8, dtype=np.uint64)
    >>> router.route(keys).tolist()
    [0, 1, 1, 0, 0, 0, 1, 0]
    >>> router.observe(signals=signal([0.9, 0.1]), now=0)
    >>> router.route(keys).tolist()
    [1, 1, 1, 1, 0, 0, 1, 1]
    """

    spec: ClassVar[GroupingSpec] = GroupingSpec(
        "cg",
        "CG 5.2",
        Trait.SPLITS_KEYS | Trait.ORDER_DEPENDENT | Trait.COMPILED | Trait.ELASTIC,
    )
    inner: str = "porc"
    """The scheme that spreads tuples over virtual workers."""
    inner_parameters: Mapping[str, Any] | tuple[tuple[str, Any], ...] = ()
    """Its parameters, such as ``{"epsilon": 0.01}``."""
    alpha: float = 10
    """Virtual workers for each worker, on average; 10 to 100 do well in CG fig. 11."""
    theta_b: float = THETA_B
    """The utilisation from which on a worker is busy."""
    theta_i: float = THETA_I
    """The utilisation up to which a worker is idle."""
    t_0: float = 60.0
    """The time slot: seconds from one signal of a worker that is heeded to the next."""
    probe: bool = False
    """Whether busy workers also give to workers that are neither, when none is idle."""

    def __post_init__(self) -> None:
        """Check the virtual workers, the thresholds, and the scheme within."""
        ElasticGrouping.__post_init__(self)
        for name, low in (("alpha", 1), ("theta_b", 0), ("theta_i", 0), ("t_0", 0)):
            self._settle(name, check_number(name, getattr(self, name), low))
        if self.n_virtual > MAX_WORKERS:
            raise InvalidParameterError(
                "alpha", self.alpha, f"at most {MAX_WORKERS} virtual workers in all"
            )
        if self.theta_i >= self.theta_b:
            raise InvalidParameterError(
                "theta_i", self.theta_i, f"less than theta_b = {self.theta_b}"
            )
        if self.inner == self.spec.name:
            raise InvalidParameterError("inner", self.inner, "another scheme than cg itself")
        self._settle("probe", check_flag("probe", self.probe))
        self._settle("inner_parameters", _pairs(self.inner_parameters))
        self.on_virtual_workers()

    @property
    def n_virtual(self) -> int:
        """The number of virtual workers."""
        return round(self.alpha * self.n_workers)

    @property
    def block(self) -> int:
        """How many tuples the scheme within decides together."""
        return self.on_virtual_workers().block

    def on_virtual_workers(self) -> Grouping:
        """Return the scheme that spreads tuples over the virtual workers."""
        from unskew.grouping.catalog import grouping  # which imports this module

        parameters = {"seed": self.seed} | dict(self.inner_parameters)
        return grouping(self.inner, self.n_virtual, **parameters)

    def signal(self, utilisation: Any) -> npt.NDArray[np.int8]:
        """Return what workers say of their utilisation, by the thresholds set here."""
        return signal(utilisation, self.theta_b, self.theta_i)

    def resize(self, n_workers: int, capacities: Sequence[float] | None = None) -> Self:
        """Return the same scheme and virtual workers for other workers."""
        n = check_whole("n_workers", n_workers, 2, MAX_WORKERS)
        if n > self.n_virtual:
            raise InvalidParameterError(
                "n_workers",
                n,
                f"at most {self.n_virtual}, the number of virtual workers; to grow further, "
                "start with a larger alpha",
            )
        return dataclasses.replace(
            self,
            n_workers=n,
            capacities=self._capacities_of(n, capacities),
            alpha=self.n_virtual / n,
        )

    def _start(self, source: int) -> Router:
        return VirtualWorkerRouter(
            self, VirtualWorkers(self.n_virtual, self.shares), self.on_virtual_workers(), source
        )


class VirtualWorkerRouter(ElasticRouter):
    """The virtual workers, and the router that spreads tuples over them."""

    grouping: ConsistentGrouping

    def __init__(
        self,
        grouping: ConsistentGrouping,
        virtual: VirtualWorkers,
        inner: Grouping,
        source: int,
    ) -> None:
        super().__init__(grouping, virtual.arrays)
        self.virtual = virtual
        self._inner = inner.build(source=source)
        self._source = source
        self._prefix = f"{grouping.inner}."

    def observe(self, *, signals: Any, now: float) -> None:
        """Hear the signal of each worker, 0 for those that say nothing, at a time in seconds.

        Time is counted from one fixed moment in all calls. A signal is not heeded within ``t_0`` of
        the last one of its worker that was. Tuples routed before stay where they are.
        """
        heard, moment = self._as_signals(signals), check_number("now", now, 0)
        self.virtual.hear(heard, moment, self.grouping.t_0, probe=self.grouping.probe)

    def snapshot(self) -> Snapshot:
        """Return owners, queues and slots, and the state of the router within."""
        arrays = Router.snapshot(self).arrays
        within = self._inner.snapshot().arrays
        arrays |= {self._prefix + name: array for name, array in within.items()}
        return Snapshot(self.grouping.spec.name, self.grouping.n_workers, arrays)

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take over the state of a snapshot; checked whole before anything is changed."""
        own = {name: each for name, each in arrays.items() if not name.startswith(self._prefix)}
        check_arrays(own, self._state)
        self.virtual.check(own)
        self._inner.restore(
            {name.removeprefix(self._prefix): arrays[name] for name in arrays.keys() - own.keys()}
        )
        for name, array in self._state.items():
            array[:] = own[name]

    def _route_at(self, hashes: KeyHashes, weights: Weights, times: Weights) -> Workers:
        return self.virtual.owners[self._inner._route_at(hashes, weights, times)]

    def _route(self, hashes: KeyHashes, weights: Weights) -> Workers:
        return self.virtual.owners[self._inner._route(hashes, weights)]

    def _resized(self, grouping: ConsistentGrouping) -> Self:
        virtual = self.virtual.resized(self.grouping.shares, grouping.shares)
        other = type(self)(grouping, virtual, self._inner.grouping, self._source)
        other._inner.restore(self._inner.snapshot().arrays)
        return other

    def _as_signals(self, signals: Any) -> AnyArray:
        array, n = np.asarray(signals), self.grouping.n_workers
        if array.dtype.kind not in "iu":
            raise InvalidTypeError("signals", f"of {array.dtype}", "pass what signal() returned")
        if array.shape != (n,):
            raise InvalidInputError(
                "signals", f"has the shape {array.shape}", f"pass one for each of {n} workers"
            )
        wrong = np.flatnonzero((array != BUSY) & (array != IDLE) & (array != 0))
        if wrong.size:
            raise InvalidInputError(
                "signals",
                f"is {array[wrong[0]]} for worker {wrong[0]}",
                "pass 1 for busy, -1 for idle, 0 for nothing",
            )
        return array


def _pairs(parameters: Any) -> tuple[tuple[str, Any], ...]:
    """Return parameters in a form that can be compared and hashed."""
    try:
        return tuple(sorted(dict(parameters).items()))
    except (TypeError, ValueError):
        raise InvalidParameterError(
            "inner_parameters", parameters, "a dictionary of names and values"
        ) from None
