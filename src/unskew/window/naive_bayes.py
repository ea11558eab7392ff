"""Naive Bayes, the running example of CG: a counter for each pair of feature value and class.

CG sec. 3: the answer for a document X is the class C with the largest P(C) * prod P(x_i | C), and
the probabilities are estimated "by counting the frequency of co-occurrence of each feature and
class value", with "a set of counters, one for each pair of feature value and class value". Fig. 3
implements it by key grouping; of the figure our text has the caption only, and the key that suits
it is the feature value. Words are what skewed keys are made of: key grouping overloads the worker
of the most frequent one, and CG splits it and adds up the counters periodically (sec. 5.3). So

- a tuple is (word, label), and `NaiveBayes` is the worker: for each word, counters of labels;
- the prior of a class takes a counter too, of documents. It belongs to no word, so its key is
  null: one tuple (null, label) for each document, which makes null the hottest key of all;
- `unskew.window.predict` is the classifier, over counters that were collected. Its smoothing the
  paper leaves open.

In Spark, with ``words`` an array column, the tuples of training are

    df.select(explode(array_append("words", lit(None))).alias("word"), "label")
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from unskew.window.aggregator import Aggregator
from unskew.window.columns import as_numpy, check_name, present, type_of
from unskew.window.groups import Groups
from unskew.window.segments import from_lists, to_lists
from unskew.window.tally import Tally, check_countable, tally


@dataclass(frozen=True, slots=True)
class NaiveBayes(Aggregator):
    """Count the labels of each key, where the key is a feature value, such as a word.

    Exact; rows without a label are left out. Labels come in their order.

    >>> from unskew.window import group_rows
    >>> rows = pa.record_batch({"word": ["win", "win", "tea"], "label": ["spam", "ham", "ham"]})
    >>> groups = group_rows([rows["word"]])
    >>> NaiveBayes("label").compute(rows, groups).to_pylist()[1]
    {'labels': [{'label': 'ham', 'count': 1}]}
    """

    label: str

    def __post_init__(self) -> None:
        check_name("label", self.label)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The column of labels."""
        return (self.label,)

    def partial_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return one list of labels with their counts."""
        kind = check_countable(self.label, type_of(inputs, self.label))
        return pa.schema([("labels", _labels(kind))])

    def result_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return one list of labels with their counts."""
        return self.partial_schema(inputs)

    def compute(self, rows: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Count the labels."""
        check_countable(self.label, type_of(rows.schema, self.label))
        values, codes = present(rows, self.label, groups)
        return _batch(tally(codes, groups.size, values), groups.size)

    def merge(self, partials: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Add up the counts."""
        rows, held = from_lists(partials.column("labels"))
        counts = as_numpy(held["count"])
        return _batch(tally(groups.codes[rows], groups.size, held["label"], counts), groups.size)

    def finish(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """Put the labels in order."""
        rows, held = from_lists(partials.column("labels"))
        counted = Tally(rows, held["label"], (as_numpy(held["count"]),))
        return _batch(counted.in_order(len(partials)), len(partials))


def _labels(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct([("label", kind), ("count", pa.int64())]))


def _batch(counted: Tally, size: int) -> pa.RecordBatch:
    lists = to_lists(counted.codes, size, label=counted.values, count=counted.sums[0])
    return pa.RecordBatch.from_arrays([lists], names=["labels"])
