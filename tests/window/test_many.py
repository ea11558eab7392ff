import pyarrow as pa
import pytest

from tests.window.split import batch, results
from unskew.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from unskew.window import Count, Many, Mean, Sum, TopK

ROWS = batch(key=["a", "b", "a"], x=[1.0, 4.0, None], s=["u", "v", "u"])


def test_each_gives_what_it_gives_alone_under_its_name():
    many = Many(rows=Count(), row=Mean("x"), s=TopK("s", 1))  # one name begins as another

    found = results(many, ROWS, cuts=[1, 2])

    for key in "ab":
        assert found[key] == {
            "rows_count": results(Count(), ROWS)[key]["count"],
            "row_mean": results(Mean("x"), ROWS)[key]["mean"],
            "s_top": results(TopK("s", 1), ROWS)[key]["top"],
        }


def test_columns_that_several_need_are_asked_for_once():
    assert Many(a=Sum("x"), b=Mean("x"), c=Count(), d=TopK("s", 1)).inputs == ("x", "s")


def test_names_stand_before_every_column():
    inputs = pa.schema([("x", pa.float64())])
    many = Many(outer=Many(inner=Mean("x")))

    assert many.partial_schema(inputs).names == ["outer_inner_count", "outer_inner_sum"]
    assert many.result_schema(inputs).names == ["outer_inner_mean"]


def test_equal_ones_are_equal():
    assert Many(a=Count(), b=Mean("x")) == Many(b=Mean("x"), a=Count())
    assert hash(Many(a=Count())) == hash(Many(a=Count()))
    assert Many(a=Count()) != Many(a=Mean("x"))


def test_names_whose_columns_could_not_be_told_apart_are_refused():
    with pytest.raises(InvalidInputError, match=r"`a_b` begins with a_.*rename one of the two"):
        Many(a_b=Count(), a=Mean("x"))

    assert Many(ab=Count(), a=Mean("x")).inputs == ("x",)


def test_what_is_no_aggregator_is_refused():
    with pytest.raises(InvalidInputError, match="Many\\(rows=Count\\(\\)\\)"):
        Many()
    with pytest.raises(InvalidTypeError, match="`a` is a str; pass an aggregator"):
        Many(a="count")
    with pytest.raises(InvalidTypeError, match="`a` is a ABCMeta"):
        Many(a=Count)
    with pytest.raises(InvalidParameterError, match="the name of a column"):
        Many(**{"": Count()})
