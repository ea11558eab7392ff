import bz2
import gzip
import json
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unskew.cli.data import find_data
from unskew.cli.text import has_lines_in_quotes
from unskew.errors import InvalidInputError, UnknownNameError

CSV = "key,n\na,1\n"
JSON = '{"key": "a", "n": 1}\n'


def write(path, content=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_parquet(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"key": ["a"], "n": [1]}), path)
    return path


class TestFormat:
    @pytest.mark.parametrize(
        ("name", "content", "kind", "columns"),
        [
            ("a.csv", CSV, "csv", ("key", "n")),
            ("A.CSV", CSV, "csv", ("key", "n")),
            ("a.csv.gz", gzip.compress(CSV.encode()), "csv", ("key", "n")),
            ("a.csv.bz2", bz2.compress(CSV.encode()), "csv", ("key", "n")),
            ("a.csv.zst", b"not looked into", "csv", None),
            ("a.b.csv", CSV, "csv", ("key", "n")),
            ("a.json", JSON, "json", None),
            ("a.jsonl", "\n" + JSON, "json", None),
            ("a.ndjson.gz", gzip.compress(JSON.encode()), "json", None),
            ("a.txt", "a b", "text", ("value",)),
            ("a.log.gz", gzip.compress(b"a b"), "text", ("value",)),
        ],
    )
    def test_the_name_of_a_file_tells(self, tmp_path, name, content, kind, columns):
        file = write(tmp_path / name, content)

        found = find_data(file)

        assert (found.path, found.kind, found.columns) == (file, kind, columns)
        assert found.size == file.stat().st_size

    @pytest.mark.parametrize("name", ["a.parquet", "a.pq", "part-0.snappy.parquet"])
    def test_a_parquet_file_tells_its_columns(self, tmp_path, name):
        found = find_data(write_parquet(tmp_path / name))

        assert (found.kind, found.columns) == ("parquet", ("key", "n"))

    def test_the_format_may_be_given(self, tmp_path):
        assert find_data(write(tmp_path / "data", CSV), "csv").columns == ("key", "n")
        assert find_data(write(tmp_path / "a.csv", CSV), "text").columns == ("value",)

    @pytest.mark.parametrize(
        ("header", "columns"),
        [
            ("key,n", ("key", "n")),
            ('"a,b",n', ("a,b", "n")),
            ("\ufeffkey,n", ("key", "n")),
            ("\r\n\nkey,n\r", ("key", "n")),
            # As Spark names them.
            ("key,n,KEY", ("key0", "n", "KEY2")),
            ("key,", ("key", "_c1")),
            # Other separators, where there is no comma.
            ("key;n", ("key", "n")),
            ("key\tn", ("key", "n")),
            ('"a;b"|n', ("a;b", "n")),
            ("key;a,n", ("key;a", "n")),
        ],
    )
    def test_the_header_of_csv_names_the_columns(self, tmp_path, header, columns):
        assert find_data(write(tmp_path / "a.csv", f"{header}\na,1\n")).columns == columns

    @pytest.mark.parametrize(
        ("text", "has"),
        [
            ('key\n"a\nb"\n', True),
            ('key\n"a"\n"b"\n', False),
            ('key\n"say ""hi"""\nb\n', False),
            ('key\n5" pipe\nb\n', False),
            ("key\na\n", False),
        ],
    )
    @pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
    @pytest.mark.parametrize("chunk", [1, 4, 1000])
    def test_lines_in_quotes_are_found(self, tmp_path, monkeypatch, text, has, pack, chunk):
        monkeypatch.setattr("unskew.cli.text._CHUNK", chunk)
        suffix = {gzip.compress: ".gz", bz2.compress: ".bz2"}.get(pack, "")

        assert has_lines_in_quotes(write(tmp_path / f"a.csv{suffix}", pack(text.encode()))) is has

    def test_a_word_is_the_column_of_split_text(self, tmp_path):
        found = find_data(write(tmp_path / "a.txt", "a b"), split=True)

        assert (found.columns, found.keys(None)) == (("word",), ["word"])


class TestFolder:
    def test_all_files_count_but_hidden_ones(self, tmp_path):
        for name in ("b.csv", "a.csv"):
            write(tmp_path / name, CSV)
        for name in ("_SUCCESS", ".a.csv.crc", "_temporary/c.csv", ".hidden/d.parquet"):
            write(tmp_path / name, "other")

        found = find_data(tmp_path)

        assert (found.kind, found.size, found.deep) == ("csv", 2 * len(CSV), False)

    def test_names_of_folders_may_be_columns(self, tmp_path):
        write_parquet(tmp_path / "day=1" / "_hour=2" / "a.parquet")

        found = find_data(tmp_path)

        assert found.columns == ("key", "n", "day", "_hour")
        assert not found.deep, "else Spark would not see these columns"

    def test_folders_in_folders_are_read(self, tmp_path):
        write(tmp_path / "a" / "b" / "1.csv", CSV)
        write(tmp_path / "2.csv", CSV)

        found = find_data(tmp_path)

        assert (found.columns, found.size, found.deep) == (("key", "n"), 2 * len(CSV), True)

    def test_an_empty_file_among_others_is_passed_over(self, tmp_path):
        write(tmp_path / "a.csv")
        write(tmp_path / "b.csv", CSV)

        assert find_data(tmp_path).columns == ("key", "n")


class TestPath:
    def test_home_is_found_where_the_shell_has_not(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        file = write(tmp_path / "a.csv", CSV)

        assert find_data(Path("~/a.csv")).path == file

    def test_a_name_may_begin_with_a_tilde(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        write(tmp_path / "~" / "a.csv", CSV)

        assert find_data(Path("~/a.csv")).path == Path("~/a.csv")

    def test_a_home_that_there_is_not_is_just_missing(self):
        with pytest.raises(InvalidInputError, match="does not exist"):
            find_data(Path("~no-such-user/a.csv"))

    @pytest.mark.parametrize(
        ("kind", "split", "more"),
        [(None, False, []), ("text", False, ["--format", "text"]), (None, True, ["--split"])],
    )
    def test_what_names_the_data_names_it_again(self, tmp_path, kind, split, more):
        file = write(tmp_path / "it's a text.txt", "a b")

        found = find_data(file, kind, split=split)

        assert found.arguments == [str(file), *more]
        assert shlex.split(shlex.join(found.arguments)) == found.arguments


class TestKeys:
    def test_names_may_be_in_another_case_or_lead_to_fields(self, tmp_path):
        found = find_data(write_parquet(tmp_path / "a.parquet"))

        assert found.keys(["KEY", "n"]) == ["KEY", "n"]
        assert found.keys(["key.field", "`key`"]) == ["key.field", "`key`"]

    def test_a_missing_one_is_named_with_the_nearest(self, tmp_path):
        found = find_data(write_parquet(tmp_path / "a.parquet"))

        with pytest.raises(UnknownNameError, match="no column is called 'kye'; did you mean 'key'"):
            found.keys(["n", "kye"])

    def test_where_there_is_a_choice_one_must_be_given(self, tmp_path):
        with pytest.raises(InvalidInputError, match="`--key` is missing; name a column: key, n"):
            find_data(write_parquet(tmp_path / "a.parquet")).keys([])
        with pytest.raises(InvalidInputError, match=r"`--key` is missing; name a column$"):
            find_data(write(tmp_path / "a.json", JSON)).keys(None)

    def test_what_only_spark_can_tell_is_left_to_it(self, tmp_path):
        assert find_data(write(tmp_path / "a.json", JSON)).keys(["kye"]) == ["kye"]


@pytest.mark.parametrize(
    ("files", "name", "message"),
    [
        ({}, "missing.csv", "missing.csv does not exist; name a file or a folder"),
        ({"folder/_SUCCESS": "x"}, "folder", "folder has no files in it; name a folder with data"),
        ({"a.csv": ""}, "a.csv", "a.csv is empty; name a file with rows in it"),
        ({"a.csv": "\n\n"}, "a.csv", "a.csv is empty; name a file with rows in it"),
        ({"f/a.csv": "", "f/b.csv": ""}, "f", "f is empty; name a file with rows in it"),
        ({"f/a.csv": CSV, "f/b.txt": "x"}, "f", "f has files of several formats; add --format"),
        ({"data": CSV}, "data", r"of no known format; add --format parquet\|csv\|json\|text"),
        ({"data.xlsx": CSV}, "data.xlsx", "of no known format; add --format"),
        ({"a.parquet": CSV}, "a.parquet", "a.parquet is not a Parquet file; name the format"),
        ({"a.json": "[1]"}, "a.json", "a.json is not JSON lines, one object a line"),
        ({"a.json": "{\n}"}, "a.json", "a.json is not JSON lines, one object a line"),
        ({"a.csv": b"\xff\xfe"}, "a.csv", "a.csv is not text in UTF-8"),
        ({"a.csv.gz": CSV}, "a.csv.gz", "a.csv.gz cannot be read: Not a gzipped file"),
        ({"a.csv.gz": gzip.compress(b"")[:-4]}, "a.csv.gz", "a.csv.gz cannot be read"),
        ({"_a.csv": CSV}, "_a.csv", "_a.csv has a name that Spark hides; rename it"),
        ({".a.csv": CSV}, ".a.csv", "a.csv has a name that Spark hides; rename it"),
        ({"f/a:b.csv": CSV}, "f", "a:b.csv has a colon in its name; rename it"),
    ],
)
def test_data_that_cannot_be_read_is_refused(tmp_path, files, name, message):
    for file, content in files.items():
        write(tmp_path / file, content)

    with pytest.raises(InvalidInputError, match=message) as caught:
        find_data(tmp_path / name)
    assert str(tmp_path) in str(caught.value), "it does not name the file"


def test_a_format_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="no format is called 'cvs'; did you mean 'csv'"):
        find_data(write(tmp_path / "a.csv", CSV), "cvs")


def test_only_text_is_split(tmp_path):
    with pytest.raises(InvalidInputError, match="`--split` is given for json; only text"):
        find_data(write(tmp_path / "a.json", JSON), split=True)


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    # The permissions of a file are no hindrance to root, who may run the tests.
    def deny(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pq, "read_schema", deny)
    with pytest.raises(InvalidInputError, match=r"cannot be read: .*Permission denied"):
        find_data(write_parquet(tmp_path / "a.parquet"))


@pytest.mark.parametrize("verb", ["report", "advise"])
def test_bad_input_is_one_line_before_spark_starts(run, no_spark, tmp_path, verb):
    file = write(tmp_path / "a b.json", json.dumps([1]))
    for arguments in (
        [file, "--key", "k"],
        [tmp_path / "no", "--key", "k"],
        [file, "--format", "x"],
    ):
        status, output, error = run(verb, *arguments)

        assert (status, output) == (2, "")
        assert len(error.splitlines()) == 1
        assert error.startswith(("[INVALID_INPUT] `DATA` ", "[UNKNOWN_NAME] no format"))
    assert run(verb, file, "--save", "plot.pdf").error.startswith("[INVALID_INPUT] `--save`")
