"""The classifier of CG's running example (sec. 3), from counters that `NaiveBayes` collected.

The answer is the label C with the largest P(C) * prod P(x_i | C). With n the counters, P(x | C) is
estimated as (n(x, C) + s) / (n(C) + s * words), s being the smoothing, and P(C) from documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from unskew.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from unskew.window.columns import as_numpy
from unskew.window.groups import Codes, group_rows
from unskew.window.segments import from_lists, offsets_of, ranges, sums_of
from unskew.window.tally import value_order


def predict(
    counters: pa.Table | pa.RecordBatch,
    documents: pa.Array | Sequence[object],
    *,
    smoothing: float = 1.0,
) -> pa.Array:
    """Return the most likely label of each document, by multinomial naive Bayes.

    Parameters
    ----------
    counters
        What `NaiveBayes` gave: ``labels``, and one column more, the words. The row without a
        word, if there is one, counts documents, from which the priors follow; else the labels
        are taken to be equally likely.
    documents
        Lists of words. Words that the counters do not know say nothing, like nulls; a document
        without any known word gets the label of the highest prior, and a null gets null.
    smoothing
        Added to each counter, so that one word alone rules out no label; above 0 (1: Laplace).

    Among equally likely labels the least one is the answer.

    >>> labels = [[("ham", 2), ("spam", 1)], [("spam", 2)], [("ham", 3)]]
    >>> kind = pa.list_(pa.struct([("label", pa.string()), ("count", pa.int64())]))
    >>> counters = pa.table({"word": [None, "win", "tea"], "labels": pa.array(labels, kind)})
    >>> predict(counters, [["win", "win"], ["tea", "win", "tea"], []]).to_pylist()
    ['spam', 'ham', 'ham']
    """
    if isinstance(smoothing, bool) or not isinstance(smoothing, int | float | np.number):
        raise InvalidParameterError("smoothing", smoothing, "a number above 0")
    if not 0 < smoothing < np.inf:
        raise InvalidParameterError("smoothing", smoothing, "a number above 0")
    model, lists = _read(counters), _as_lists(documents)
    document, words = _known_words(lists, model.words)
    if not len(model.labels):
        return pa.nulls(len(lists), model.labels.type)
    scores = _scores(model, document, words, len(lists), float(smoothing))
    best = np.argmax(scores, axis=1)
    return model.labels.take(pa.array(best, mask=as_numpy(pc.is_null(lists))))


class _Model(NamedTuple):
    """Counters, each a row (a word) and a column (a label)."""

    words: pa.Array
    labels: pa.Array
    """All labels, in order."""
    row: Codes
    column: Codes
    counts: npt.NDArray[np.float64]
    priors: npt.NDArray[np.float64]
    """How many documents have each label."""


def _read(counters: pa.Table | pa.RecordBatch) -> _Model:
    names = [name for name in counters.schema.names if name != "labels"]
    if "labels" not in counters.schema.names or len(names) != 1:
        raise InvalidInputError(
            "counters",
            f"has the columns {counters.schema.names}",
            "pass `labels`, as NaiveBayes gives it, and one column of words",
        )
    words, lists = (_whole(counters.column(name)) for name in (names[0], "labels"))
    if group_rows([words]).size < len(words):
        raise InvalidInputError("counters", "has a word twice", "pass merged partials")
    row, held = from_lists(lists)
    groups = group_rows([held["label"]])
    labels = held["label"].take(pa.array(groups.first))
    order = value_order(labels)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    column, count = rank[groups.codes], as_numpy(held["count"]).astype(np.float64)
    is_prior = as_numpy(pc.is_null(words))[row]
    documents = sums_of(column[is_prior], len(labels), count[is_prior])
    return _Model(
        words,
        labels.take(pa.array(order)),
        row[~is_prior],
        column[~is_prior],
        count[~is_prior],
        documents if is_prior.any() else np.ones(len(labels)),
    )


def _known_words(lists: pa.Array, vocabulary: pa.Array) -> tuple[Codes, Codes]:
    """Return the document of each word that the vocabulary has, and the word's row in it."""
    words = lists.flatten()
    lengths = as_numpy(pc.fill_null(pc.list_value_length(lists), 0))
    document = np.repeat(np.arange(len(lists)), lengths)
    try:
        words = words.cast(vocabulary.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidTypeError(
            "documents", f"lists of {words.type}", f"pass lists of {vocabulary.type}"
        ) from None
    codes, size, _ = group_rows([pa.concat_arrays([vocabulary, words])])
    row_of = np.full(size, -1)
    row_of[codes[: len(vocabulary)]] = np.arange(len(vocabulary))
    row = row_of[codes[len(vocabulary) :]]
    known = (row >= 0) & as_numpy(pc.is_valid(words))
    return document[known], row[known]


def _scores(
    model: _Model, document: Codes, words: Codes, n_documents: int, smoothing: float
) -> npt.NDArray[np.float64]:
    """Return the logarithm of P(C) * prod P(x_i | C), up to a constant, by document and label."""
    n_labels, n_words = len(model.labels), len(model.words) - model.words.null_count
    # As if no label had any of the words ...
    of_label = sums_of(model.column, n_labels, model.counts)
    nothing = np.log(smoothing) - np.log(of_label + smoothing * max(n_words, 1))
    with np.errstate(divide="ignore"):
        priors = np.log(model.priors)
    lengths = np.bincount(document, minlength=n_documents)
    scores = priors + lengths[:, None] * nothing
    # ... and then what the counters add, those of a word for each time that it occurs.
    offsets = offsets_of(model.row, len(model.words))
    repeats = np.diff(offsets)[words]
    counter = np.repeat(offsets[words], repeats) + ranges(repeats)
    gain = (np.log(model.counts + smoothing) - np.log(smoothing))[counter]
    cell = np.repeat(document, repeats) * n_labels + model.column[counter]
    gains = sums_of(cell, n_documents * n_labels, gain).reshape(n_documents, n_labels)
    total: npt.NDArray[np.float64] = scores + gains
    return total


def _as_lists(documents: pa.Array | Sequence[object]) -> pa.Array:
    is_arrow = isinstance(documents, pa.Array | pa.ChunkedArray)
    lists = _whole(documents) if is_arrow else pa.array(documents)
    if not pa.types.is_list(lists.type) and not pa.types.is_large_list(lists.type):
        raise InvalidTypeError("documents", f"a column of {lists.type}", "pass lists of words")
    return lists


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
