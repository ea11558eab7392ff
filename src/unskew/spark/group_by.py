"""Grouped work that no hot key can hold up: ``unskew.group_by(df, "key")``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from unskew.checks import check_whole
from unskew.errors import InvalidInputError
from unskew.grouping.base import Grouping
from unskew.hashing.candidates import MAX_WORKERS
from unskew.spark import aggregate as aggregate_stages
from unskew.spark import apply as apply_stages
from unskew.spark.batches import ArrowKind, Kind, PandasKind
from unskew.spark.combining import hot_key_cost
from unskew.spark.frames import HELPER, WORKER, quoted, require_batch, require_groupable, resolve
from unskew.spark.route import DEFAULT_GROUPING, as_grouping, never_splitting, with_worker
from unskew.spark.sketches import SparkAggregator
from unskew.spark.workers import default_workers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from unskew.window import Aggregator

MAX_ROWS_PER_CALL = 100_000


def group_by(
    df: DataFrame,
    *keys: str | Column,
    workers: int | None = None,
    grouping: str | Grouping = DEFAULT_GROUPING,
) -> GroupedFrame:
    """Group a frame by keys, for work that is spread evenly over the workers.

    Parameters
    ----------
    df
        A batch frame, on Classic or Connect. Nothing runs before an action.
    keys
        Columns, by name or as expressions.
    workers
        Over how many tasks the work is spread; ``spark.sql.shuffle.partitions`` if not given.
    grouping
        How rows find their worker: a name of `unskew.groupings`, or a grouping. One that splits
        keys needs functions whose partial results can be merged.
    """
    require_batch(df, "group_by")
    columns = resolve(df, keys)
    require_groupable(df, columns)
    if isinstance(grouping, Grouping):
        n = grouping.n_workers if workers is None else workers
    else:
        n = max(2, default_workers(df.sparkSession)) if workers is None else workers
    check_whole("workers", n, 2, MAX_WORKERS)
    return GroupedFrame(df, columns, as_grouping(grouping, n))


class GroupedFrame:
    """A frame grouped by keys: what `group_by` returns."""

    def __init__(self, df: DataFrame, keys: list[Column], grouping: Grouping) -> None:
        self._df = df
        self._keys = keys
        self._grouping = grouping
        self._names = df.select(*keys).columns
        self._helpers = [f"{HELPER}key{position}" for position in range(len(keys))]

    def __repr__(self) -> str:
        return f"GroupedFrame(by {', '.join(self._names)}, {self._grouping})"

    @property
    def splits_keys(self) -> bool:
        """Whether a key may be on several workers, so that partial results must be merged."""
        return self._grouping.splits_keys

    def agg(self, *columns: Column) -> DataFrame:
        """Aggregate with Spark's own functions, on Spark's own path.

        Spark combines the rows of a key before it shuffles them, wherever a function allows: there
        is little to balance, and ``docs/benchmarks.md`` has what a balanced shuffle in front of it
        costs. `explain` says what a hot key costs with the functions at hand.
        """
        return self._df.groupBy(*self._keys).agg(*columns)

    def explain(self, *columns: Column) -> str:
        """Say who does the work of `agg`, and what a hot key costs, in a line a column."""
        by = f"Spark's own groupBy({', '.join(self._names)}).agg."
        if not columns:
            return f"agg: {by}"
        aggregated = [self.agg(column) for column in columns]
        return "\n".join(f"{each.columns[-1]}: {by} {hot_key_cost(each)}" for each in aggregated)

    def aggregate(self, aggregator: Aggregator | SparkAggregator) -> DataFrame:
        """Compute an aggregator: a partial for each key and worker, merged into one result.

        The partials are computed over whole Arrow batches, many keys at once. Aggregators of
        `unskew.window` are such; those of `unskew.spark.sketches` go to Spark, as `agg` does.
        """
        if isinstance(aggregator, SparkAggregator):
            made = aggregator.finish(aggregator.compute(self._df)).alias(aggregator.result)
            return self.agg(made)
        named = dict(zip(self._helpers, self._names, strict=True))
        return aggregate_stages.aggregate(self._spread, self._df, named, aggregator)

    def apply_in_pandas(
        self,
        partial: Callable[..., Any],
        schema: str | StructType,
        *,
        merge: Callable[..., Any] | None = None,
        partial_schema: str | StructType | None = None,
        max_rows_per_call: int = MAX_ROWS_PER_CALL,
    ) -> DataFrame:
        """Apply a function to the rows of each key as a pandas frame, and merge what it gives.

        As ``df.groupBy(...).applyInPandas(partial, schema)``, with ``merge``: a key that is split
        over workers, or that has more than ``max_rows_per_call`` rows, is handed to ``partial`` in
        parts, and ``merge`` gets the frame of all its results, under the schema of the partials.

        Parameters
        ----------
        partial
            ``pandas.DataFrame -> pandas.DataFrame``, or with the key as a tuple in front.
        schema
            The columns of the result.
        merge
            ``pandas.DataFrame -> pandas.DataFrame``, or with the key in front. It is called once
            for each key with a partial row, also when there is only one. Without it each key is
            handed over whole, which needs a grouping that does not split keys.
        partial_schema
            The columns that ``partial`` gives, if they are not those of the result.
        max_rows_per_call
            How many rows ``partial`` gets at most, with ``merge``: no key is too large for memory.
        """
        return self._apply(PandasKind(), partial, schema, merge, partial_schema, max_rows_per_call)

    def apply_in_arrow(
        self,
        partial: Callable[..., Any],
        schema: str | StructType,
        *,
        merge: Callable[..., Any] | None = None,
        partial_schema: str | StructType | None = None,
        max_rows_per_call: int = MAX_ROWS_PER_CALL,
    ) -> DataFrame:
        """Apply a function to the rows of each key as a `pyarrow.Table`, and merge what it gives.

        As `apply_in_pandas`; the key, if asked for, is a tuple of `pyarrow.Scalar`.
        """
        return self._apply(ArrowKind(), partial, schema, merge, partial_schema, max_rows_per_call)

    def _apply(
        self,
        kind: Kind,
        partial: Callable[..., Any],
        schema: str | StructType,
        merge: Callable[..., Any] | None,
        partial_schema: str | StructType | None,
        max_rows_per_call: int,
    ) -> DataFrame:
        check_whole("max_rows_per_call", max_rows_per_call, 1, 2**31 - 1)
        if merge is None:
            if self._grouping.splits_keys:
                self._refuse_to_split()
            if partial_schema is not None:
                raise InvalidInputError(
                    "partial_schema", "is given without merge", "pass merge, or schema alone"
                )
            return apply_stages.apply_whole(
                self._spread(), kind, self._helpers, self._df.columns, partial, schema
            )
        work = apply_stages.Work(
            partial, partial_schema or schema, merge, schema, max_rows_per_call
        )
        return apply_stages.apply_and_merge(
            self._spread(), kind, self._helpers, self._df.columns, work
        )

    def _refuse_to_split(self) -> NoReturn:
        raise InvalidInputError(
            "merge",
            f"is missing, and {self._grouping.spec.name!r} splits keys: each worker would give a "
            "partial result as if it were the whole",
            f"pass merge=, or group_by(..., grouping={never_splitting()})",
        )

    def _spread(self, inputs: list[Column] | None = None) -> DataFrame:
        """Put the keys before the columns of the frame, or some of them, and shuffle by worker."""
        columns = [quoted(name) for name in self._df.columns] if inputs is None else inputs
        keys = [key.alias(name) for key, name in zip(self._keys, self._helpers, strict=True)]
        keyed = self._df.select(*keys, *columns)
        routed = with_worker(keyed, self._grouping, [quoted(name) for name in self._helpers])
        return routed.repartitionById(self._grouping.n_workers, WORKER)
