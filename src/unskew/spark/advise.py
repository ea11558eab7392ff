"""The advisor: every grouping of the catalogue on a sample of the frame, and which to take."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from unskew.checks import check_whole
from unskew.control.advice import Advice, CostModel, advise_on_sample, check_costs
from unskew.hashing.mix import GOLDEN, spread
from unskew.spark.frames import HELPER, require_batch, require_groupable, resolve
from unskew.spark.report import MAX_PARTITIONS
from unskew.spark.weight import checked_weights, weight_column
from unskew.spark.workers import default_workers
from unskew.typing import KeyHashes, Weights

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SAMPLE = 200_000
LEAST_SAMPLE = 100
"""A sample smaller than this might turn out empty, and tells nothing anyway."""
SCHEMA = (
    "grouping string, splits_keys boolean, imbalance double, replication double, "
    "estimated_time double, recommended boolean, reason string"
)
_HASH, _WEIGHT, _ID, _LUCK = (f"{HELPER}{name}" for name in ("hash", "weight", "id", "luck"))
# A quarter of the sample from one partition at most: whole from four on, and little to keep.
_MOST_OF_ONE = 4
# How many rows there are is seen from those that are kept: too few of them, and it is a guess.
_LEAST_OF_ONE = 1_000
_ROW_BITS = 33  # in what monotonically_increasing_id gives, below the number of the partition


def advise(
    df: DataFrame,
    *keys: str | Column,
    workers: int | None = None,
    weight: str | Column | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    costs: CostModel | None = None,
) -> DataFrame:
    """Say which grouping would finish the work on this frame soonest, and why.

    Takes a sample of the rows, routes it with every grouping of the catalogue, and estimates the
    time of the job from the balance that each reaches and the partials that each leaves to merge
    (`unskew.control.advice` has the model). Where plain hashing, as Spark does by itself, is within
    a tenth of ideal, that is the advice. So it is for plain sums and counts, whatever the keys:
    Spark combines them before it shuffles.

    The frame is read once. Every row has the same chance to be sampled, wherever it is; only key
    hashes and weights come to the driver.

    Parameters
    ----------
    df
        A batch frame, on Classic or Connect.
    keys
        Columns, by name or as expressions. Null is a key like any other.
    workers
        Workers to spread over; ``spark.sql.shuffle.partitions`` if not given.
    weight
        What a row costs, where rows do not cost the same: a number from 0 up.
    sample
        About how many rows to sample, 100 at least. Where one partition has more than a quarter
        of all rows it may be less, down to a quarter.
    seed
        Seed of the sample and of the groupings.
    costs
        What merging costs; a partial as much as a row if not given.

    Returns
    -------
    DataFrame
        A row a grouping, the recommended one first, then by time:

        - ``grouping``, ``splits_keys``;
        - ``imbalance``: the load of the busiest worker over the average;
        - ``replication``: on how many workers a key of the sample is;
        - ``estimated_time``: the time of the job over that of an ideal one;
        - ``recommended``: true in one row;
        - ``reason``: why, or why not.

        The figures are null for a frame without rows.
    """
    advice = advise_rows(
        df, *keys, workers=workers, weight=weight, sample=sample, seed=seed, costs=costs
    ).advice
    rows = [asdict(each) for each in advice]
    kinds = [pa.string(), pa.bool_(), *[pa.float64()] * 3, pa.bool_(), pa.string()]
    schema = pa.schema(list(zip(rows[0], kinds, strict=True)))
    return df.sparkSession.createDataFrame(pa.Table.from_pylist(rows, schema), SCHEMA)


@dataclass(frozen=True, slots=True)
class Advised:
    """The advice, and what it rests on: rows of the frame, about, and rows of the sample."""

    advice: list[Advice]
    workers: int
    rows: int
    sampled: int


def advise_rows(
    df: DataFrame,
    *keys: str | Column,
    workers: int | None = None,
    weight: str | Column | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    costs: CostModel | None = None,
) -> Advised:
    """Advise as `advise` does, with what the advice rests on."""
    require_batch(df, "advise")
    columns = resolve(df, keys)
    require_groupable(df, columns)
    cost = None if weight is None else weight_column(df, weight)
    if workers is None:
        workers = default_workers(df.sparkSession)
    check_whole("workers", workers, 2, MAX_PARTITIONS)
    check_whole("sample", sample, LEAST_SAMPLE, 2**31 - 1)
    check_whole("seed", seed, 0, 2**63 - 1)
    model = check_costs(costs)
    taken = _sampled(df, columns, cost, sample, seed)
    advice = advise_on_sample(
        taken.hashes, workers, taken.weights, rows=taken.rows, seed=seed, costs=model
    )
    return Advised(advice, workers, taken.rows, len(taken.hashes))


@dataclass(frozen=True, slots=True)
class _Sample:
    hashes: KeyHashes
    weights: Weights | None
    rows: int


def _sampled(
    df: DataFrame, keys: list[Column], weight: Column | None, size: int, seed: int
) -> _Sample:
    """Take a uniform sample in one pass, though how many rows there are is known only after it.

    Each row draws its luck, a number in [0, 1). While row i of a partition passes, it is kept if
    luck * i < m: all of the first m rows, ever fewer of the later ones. In the end n rows have
    passed, and the sample is every row with luck < m / n, all of which were kept. What is kept is
    cached meanwhile, m * (1 + ln(n / m)) rows of a partition.
    """
    most = max(-(-size // _MOST_OF_ONE), _LEAST_OF_ONE)
    # Not the seed itself: keys made with rand(seed) would be the luck of their rows.
    luck = int(spread(np.array([seed], np.uint64), GOLDEN)[0] >> np.uint64(1))
    costs = [] if weight is None else [weight.alias(_WEIGHT)]
    drawn = df.select(
        F.xxhash64(*keys).alias(_HASH),
        *costs,
        F.monotonically_increasing_id().alias(_ID),
        F.rand(luck).alias(_LUCK),
    )
    passed = F.col(_ID).bitwiseAND(2**_ROW_BITS - 1) + 1
    kept = drawn.where(F.col(_LUCK) * passed < most).persist()
    try:
        partitions = kept.groupBy(F.shiftright(_ID, _ROW_BITS)).agg(F.max(passed).alias("rows"))
        counted = partitions.agg(F.sum("rows").alias("rows"), F.max("rows").alias("most")).first()
        rows = (counted["rows"] if counted is not None else None) or 0
        if counted is None or not rows:
            return _Sample(np.empty(0, np.uint64), None, 0)
        share = min(1.0, size / rows, most / counted["most"])
        table = kept.where(F.col(_LUCK) < share).select(_HASH, *[_WEIGHT][: len(costs)]).toArrow()
    finally:
        kept.unpersist()
    hashes = table[_HASH].to_numpy().view(np.uint64)
    weights = None if weight is None else checked_weights(table[_WEIGHT])
    return _Sample(hashes, weights, max(rows, len(hashes)))
