"""What a hot key costs in an aggregation of Spark's own, told from its plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from unskew.spark.plan import physical_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PYTHON = re.compile(r"AggregateInPandas|AggregateInArrow|AggregatePython")
_PARTIAL = re.compile(r"\bpartial_(\w+)\(")
# Of these, a partial result grows with the rows of its key; of the others it is of a fixed size.
_KEEPS = {
    "collect_list": "every value",
    "collect_set": "every distinct value",
    "listagg": "every value",
    "mode": "every distinct value",
    "percentile": "every distinct value",
}


def hot_key_cost(aggregated: DataFrame) -> str:
    """Say where Spark combines the rows of a key, and what that means for a hot one."""
    lines = (physical_plan(aggregated) or "").splitlines()
    # From the top: the aggregation itself, and the one that prepares it, if there is one.
    steps = [line for line in lines if "Aggregate" in line][:2]
    if not steps:
        return "Its plan does not show where it combines the rows of a key."
    if _PYTHON.search(steps[0]):
        return (
            "It hands all rows of a key to a Python function on one task, and combines none before "
            "the shuffle, so a hot key weighs on that task. An aggregator, or apply_in_pandas with "
            "a merge, would spread it."
        )
    partial = _PARTIAL.findall(steps[-1])
    if not partial:
        return "It has all rows of a key on one task already, so a hot key weighs on that task."
    keeping = [name for name in dict.fromkeys(partial) if name in _KEEPS]
    if keeping:
        kept = ", ".join(f"{name} keeps {_KEEPS[name]}" for name in keeping)
        return (
            f"It combines rows before the shuffle, but {kept}, and one task merges what is kept of "
            "a key, so a hot key weighs there by as much."
        )
    return (
        "It combines rows before the shuffle, into one result for each key and task, so a hot key "
        "does not weigh on one task."
    )
