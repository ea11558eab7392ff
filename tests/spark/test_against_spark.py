import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import unskew
from tests.frames import ROW, Sample, everything, in_one_job, multiset, plain, samples
from tests.spark.operations import OPERATIONS, UNLIKE

EVERYTHING = everything()
NOTHING = Sample(EVERYTHING.table.slice(0, 0), ["text"])
SEEN = "values string, kinds string"
# All groupings for each example would take seconds more.
SOME = st.lists(st.sampled_from(UNLIKE), min_size=1, max_size=2, unique=True)


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=12)
@example(EVERYTHING, 3, UNLIKE)
@example(plain(), 3, unskew.groupings())
@example(NOTHING, 2, UNLIKE)
@given(samples(), st.integers(2, 5), SOME)
def test_rows_are_those_that_spark_gives(spark, name, sample, workers, groupings):
    operation = OPERATIONS[name]
    frame = sample.frame(spark)
    expected = operation.spark(frame, sample.keys, workers)
    found = {
        grouping: operation.ours(frame, sample.keys, workers, grouping) for grouping in groupings
    }

    assert {grouping: each.dtypes for grouping, each in found.items()} == dict.fromkeys(
        found, expected.dtypes
    )
    rows, *others = map(multiset, in_one_job({"Spark": expected} | found).values())
    assert dict(zip(found, others, strict=True)) == dict.fromkeys(found, rows)


@settings(max_examples=6)
@example(EVERYTHING)
@given(samples())
def test_a_function_sees_what_it_sees_with_spark(spark, sample):
    frame = sample.frame(spark)
    grouped = unskew.group_by(frame, *sample.keys, workers=3, grouping="key")

    found = grouped.apply_in_pandas(seen, SEEN)

    expected = frame.groupBy(*sample.keys).applyInPandas(seen, SEEN)
    assert multiset(found.toArrow()) == multiset(expected.toArrow())


def seen(key, rows):
    """Say all that can be seen of a group: values, types of columns, and numbers of rows."""
    values = [repr(row) for row in rows.sort_values(ROW).to_dict("records")]
    kinds = [*map(type, key), *rows.dtypes, rows.index.tolist()]
    return pd.DataFrame({"values": ["\n".join(values)], "kinds": [repr(kinds)]})
