"""Problems for the constructions: a function in use, frequencies, and how many workers are next."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from tests.naive import gedik as naive
from unskew.hashing.mix import mix
from unskew.partition import (
    UTILITIES,
    Frequencies,
    PartitionFunction,
    Plan,
    Planner,
    Resources,
    consistent_function,
)

BETAS = {"linear": lambda x: x, "quadratic": lambda x: x * x, "constant": lambda _: 1.0}
# Speeds over which the mean is a multiple of a power of 2 keep all sums exact.
EXACT_SPEEDS = {2: (2, 2), 4: (1, 1, 2, 4), 5: (2, 2, 4, 8, 4)}
ONE = 1 << 12
# Table 1 of the paper; all else are the defaults of `Planner`.
DEFAULT = {"N": 10, "|D|": 10**6, "z": 1.0}


class Case(NamedTuple):
    planner: Planner
    previous: PartitionFunction
    frequencies: Frequencies
    n: int
    capacities: tuple[float, ...] | None

    def plan(self) -> Plan:
        return self.planner.plan(self.previous, self.frequencies, self.n, self.capacities)


@st.composite
def cases(draw, construction):
    """Draw a case; frequencies are multiples of 2 to the -12, alike, skewed or both."""
    before, n = draw(st.integers(2, 6), label="before"), draw(st.integers(2, 6), label="n")
    count = draw(st.integers(1, 20), label="keys")
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="shares"))
    kind = draw(st.sampled_from(["alike", "few", "skewed"]), label="kind of shares")
    parts = {
        "alike": np.full(count, 100),
        "few": random.integers(50, 53, count),
        "skewed": 1100 // np.arange(1, count + 1),
    }[kind]
    speeds = EXACT_SPEEDS.get(n) if draw(st.booleans(), label="capacities") else None
    # Of fewer workers, as there are on the way, speeds would not be exact.
    before = before if speeds is None else max(before, n - 1)
    keys = mix(random.permutation(1000)[:count].astype(np.uint64))
    frequencies = Frequencies(keys, parts / ONE)
    ring = consistent_function(before, seed=draw(st.integers(0, 3), label="seed")).ring
    old = draw(st.integers(0, count), label="tracked before")
    # Some keys that were tracked have not been seen of late.
    known = np.append(keys[:old], mix(np.arange(2000, 2003, dtype=np.uint64)))
    previous = PartitionFunction(ring, known, random.integers(0, before, len(known)))
    planner = Planner(
        Resources(
            state=draw(st.sampled_from(sorted(BETAS)), label="state"),
            computation=draw(st.sampled_from(sorted(BETAS)), label="computation"),
            alpha=draw(st.sampled_from([1.1, 1.2, (1.2, 3.0, 1.5)]), label="alpha"),
            sigma=0.01,
            domain=10**9,
        ),
        construction,
        draw(st.sampled_from(UTILITIES), label="utility"),
        max_tracked=draw(st.integers(1, 20), label="max tracked"),
        max_moves=draw(st.integers(1, 5), label="max moves"),
    )
    return Case(planner, previous, frequencies, n, speeds)


def problem_of(case: Case, plan: Plan) -> naive.Problem:
    """Put the case as the twin takes it, with the keys that the plan tracks."""
    resources = case.planner.resources
    functions = (resources.state, resources.computation, "linear")
    counting = [k for k, name in enumerate(functions) if name != "constant"]
    known = np.union1d(case.frequencies.keys, case.previous.keys)
    speeds = case.capacities or (1.0,) * case.n
    return naive.Problem(
        f=dict(zip(case.frequencies.keys.tolist(), case.frequencies.shares.tolist(), strict=True)),
        tracked=plan.function.keys.tolist(),
        tracked_before=case.previous.keys.tolist(),
        old=dict(zip(known.tolist(), case.previous.lookup(known).tolist(), strict=True)),
        ring=dict(zip(known.tolist(), plan.function.ring.lookup(known).tolist(), strict=True)),
        n=case.n,
        beta_s=BETAS[functions[0]],
        betas=[BETAS[functions[k]] for k in counting],
        alphas=[resources.alphas[k] for k in counting],
        slowness=[sum(speeds) / case.n / speed for speed in speeds],
        utility=case.planner.utility,
        c=case.planner.max_moves,
    )


def mapping(function: PartitionFunction) -> dict[int, int]:
    """Give the explicit hash of a function as a dict."""
    return dict(zip(function.keys.tolist(), function.workers.tolist(), strict=True))


@functools.cache
def default_workload() -> Frequencies:
    """Give the frequencies of the paper's default workload (table 1)."""
    ranks = np.arange(DEFAULT["|D|"])
    shares = 1 / (ranks + 1.0) ** DEFAULT["z"]
    return Frequencies(mix(ranks.astype(np.uint64)), shares / shares.sum())
