import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import aggregators as naive
from tests.window.split import batch, results
from unskew.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from unskew.window import NaiveBayes, predict

WORDS = st.lists(st.sampled_from("uvwxyz"), max_size=6)
DOCUMENTS = st.lists(st.tuples(st.sampled_from(["c", "b", "a"]), WORDS), min_size=1, max_size=8)
COUNTERS = pa.list_(pa.struct([("label", pa.string()), ("count", pa.int64())]))


def trained(documents, cuts=(), priors=True, kind=None):
    """The counters of training documents, as an engine would collect them."""
    tuples = [(word, label) for label, words in documents for word in words]
    tuples += [(None, label) for label, _ in documents] if priors else []
    words = pa.array([word for word, _ in tuples], kind or pa.string())
    rows = batch(key=words, label=pa.array([label for _, label in tuples], pa.string()))
    found = results(NaiveBayes("label"), rows, cuts)
    return pa.table(
        {
            "word": pa.array(list(found), kind or pa.string()),
            "labels": pa.array([each["labels"] for each in found.values()], COUNTERS),
        }
    )


@given(DOCUMENTS, st.lists(WORDS, min_size=1, max_size=4), st.sampled_from([0.01, 1.0, 3.0]))
def test_the_answer_is_the_most_likely_label_of_the_twin(training, documents, smoothing):
    found = predict(trained(training, cuts=[3, 9]), documents, smoothing=smoothing).to_pylist()

    for label, document in zip(found, documents, strict=True):
        scores = naive.classify(training, document, smoothing)
        assert scores[label] == pytest.approx(max(scores.values()), abs=1e-9)


def test_a_frequent_label_wins_where_words_say_nothing():
    counters = trained([("a", ["x"]), ("b", ["y"]), ("b", ["z"])])

    assert predict(counters, [[], ["unknown"], [None]]).to_pylist() == ["b", "b", "b"]


def test_without_counted_documents_labels_are_equally_likely():
    training = [("b", ["y"]), ("b", ["y"]), ("a", ["x"])]

    # The prior of `b` outweighs one word of `a`, as long as there is a prior.
    few = [("b", ["y"])] * 9 + [("a", ["x"] * 9)]
    assert predict(trained(few), [["x"]], smoothing=10).to_pylist() == ["b"]
    assert predict(trained(few, priors=False), [["x"]], smoothing=10).to_pylist() == ["a"]
    assert predict(trained(training, priors=False), [[]]).to_pylist() == ["a"]


def test_words_that_are_null_say_nothing():
    counters = trained([("a", ["x"] * 99)] * 3 + [("b", ["y"])])  # a word of `a` weighs little

    assert predict(counters, [[], [None] * 50, [None, "y", None]]).to_pylist() == ["a", "a", "b"]


def test_a_missing_document_has_no_label():
    documents = pa.array([None, ["x"], None], pa.list_(pa.string()))

    assert predict(trained([("a", ["x"])]), documents).to_pylist() == [None, "a", None]


def test_documents_may_come_in_slices_and_chunks():
    documents = pa.array([["y"], ["x"], ["y", "y"]])
    counters = trained([("a", ["x", "x"]), ("b", ["y", "y"])])

    assert predict(counters, documents.slice(1)).to_pylist() == ["a", "b"]
    chunks = pa.chunked_array([documents.slice(2), documents.slice(0, 2)])
    assert predict(counters, chunks).to_pylist() == ["b", "b", "a"]
    assert predict(counters.to_batches()[0], documents).to_pylist() == ["b", "a", "b"]


def test_features_may_be_structs():
    kind = pa.struct([("feature", pa.string()), ("value", pa.int64())])
    red, blue = {"feature": "hue", "value": 1}, {"feature": "hue", "value": 2}
    counters = pa.table(
        {
            "feature": pa.array([red, blue], kind),
            "labels": pa.array([[("a", 3)], [("b", 3)]], COUNTERS),
        }
    )

    found = predict(counters, pa.array([[blue], [red, red, blue]], pa.list_(kind)))

    assert found.to_pylist() == ["b", "a"]


def test_nothing_was_learnt_and_nothing_is_known():
    empty = trained([], priors=True)

    assert predict(empty, [["x"], []]).to_pylist() == [None, None]


def test_a_text_is_told_by_its_words():
    random = np.random.default_rng(5)
    vocabulary = np.array([f"w{i}" for i in range(200)])
    shares = {label: random.dirichlet(np.full(200, 0.3)) for label in "abc"}

    def document(label):
        return label, random.choice(vocabulary, 40, p=shares[label]).tolist()

    counters = trained([document(label) for label in "abc" * 40])
    asked = [document(label) for label in "abc" * 20]

    found = predict(counters, [words for _, words in asked]).to_pylist()

    assert np.mean([f == label for f, (label, _) in zip(found, asked, strict=True)]) > 0.95


def test_documents_without_a_label_teach_nothing():
    training = [("a", ["x"]), ("b", ["y", "y"])]
    unlabelled = [(None, ["x", "y", "y"]), *training]

    known = {row["word"]: row["labels"] for row in trained(training).to_pylist()}
    assert {row["word"]: row["labels"] for row in trained(unlabelled).to_pylist()} == known


@pytest.mark.parametrize("smoothing", [0, -1, float("inf"), float("nan"), "1", None, True])
def test_smoothing_without_a_meaning_is_refused(smoothing):
    with pytest.raises(InvalidParameterError, match="a number above 0"):
        predict(trained([("a", ["x"])]), [["x"]], smoothing=smoothing)


def test_documents_that_are_no_lists_of_words_are_refused():
    with pytest.raises(InvalidTypeError, match="pass lists of words"):
        predict(trained([("a", ["x"])]), pa.array(["x"]))
    with pytest.raises(InvalidTypeError, match="pass lists of int64"):
        predict(trained([("a", [1])], kind=pa.int64()), [["x"]])


def test_counters_that_are_no_counters_are_refused():
    counters = trained([("a", ["x"])])

    with pytest.raises(InvalidInputError, match="one column of words"):
        predict(counters.drop_columns("labels"), [["x"]])
    with pytest.raises(InvalidInputError, match="one column of words"):
        predict(counters.append_column("more", counters["word"]), [["x"]])
    with pytest.raises(InvalidInputError, match="has a word twice"):
        predict(pa.concat_tables([counters, counters]), [["x"]])
