"""Several aggregators at once, over one pass and one shuffle."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from unskew.errors import InvalidInputError, InvalidTypeError
from unskew.window.aggregator import Aggregator
from unskew.window.columns import check_name
from unskew.window.groups import Groups


class Many(Aggregator):
    """Compute several things of each key; columns are prefixed with the name of each.

    >>> from unskew.window import Count, Mean, group_rows
    >>> rows = pa.record_batch({"key": ["a", "a", "b"], "x": [1.0, 4.0, 2.0]})
    >>> visits = Many(visit=Count(), x=Mean("x"))
    >>> visits
    Many(visit=Count(column=None), x=Mean(column='x'))
    >>> visits.finish(visits.compute(rows, group_rows([rows["key"]]))).to_pydict()
    {'visit_count': [2, 1], 'x_mean': [2.5, 2.0]}
    """

    def __init__(self, /, **named: Aggregator) -> None:
        if not named:
            raise InvalidInputError("aggregators", "is empty", "name one: Many(rows=Count())")
        for name, each in named.items():
            check_name("name", name)
            if not isinstance(each, Aggregator):
                raise InvalidTypeError(
                    name, f"a {type(each).__name__}", "pass an aggregator, such as Count()"
                )
            longer = [other for other in named if other.startswith(f"{name}_")]
            if longer:
                raise InvalidInputError(
                    longer[0],
                    f"begins with {name}_, as the columns of {name} do",
                    "rename one of the two: their columns could not be told apart",
                )
        self.named = named

    def __repr__(self) -> str:
        return f"Many({', '.join(f'{name}={each!r}' for name, each in self.named.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Many) and self.named == other.named

    def __hash__(self) -> int:
        return hash(frozenset(self.named.items()))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that any of them needs, each once."""
        return tuple(dict.fromkeys(name for each in self.named.values() for name in each.inputs))

    def partial_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return the columns of all partials."""
        return self._joined_schema(lambda each: each.partial_schema(inputs))

    def result_schema(self, inputs: pa.Schema) -> pa.Schema:
        """Return the columns of all results."""
        return self._joined_schema(lambda each: each.result_schema(inputs))

    def compute(self, rows: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Compute each over the same groups."""
        return self._joined(lambda _, each: each.compute(rows, groups))

    def merge(self, partials: pa.RecordBatch, groups: Groups) -> pa.RecordBatch:
        """Merge the partials of each."""
        return self._joined(lambda name, each: each.merge(_part(partials, name), groups))

    def finish(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """Finish each."""
        return self._joined(lambda name, each: each.finish(_part(partials, name)))

    def _joined(self, part: Callable[[str, Aggregator], pa.RecordBatch]) -> pa.RecordBatch:
        parts = {name: part(name, each) for name, each in self.named.items()}
        columns = [column for each in parts.values() for column in each.columns]
        names = [f"{name}_{column}" for name, each in parts.items() for column in each.schema.names]
        return pa.RecordBatch.from_arrays(columns, names=names)

    def _joined_schema(self, part: Callable[[Aggregator], pa.Schema]) -> pa.Schema:
        return pa.schema(
            field.with_name(f"{name}_{field.name}")
            for name, each in self.named.items()
            for field in part(each)
        )


def _part(partials: pa.RecordBatch, name: str) -> pa.RecordBatch:
    """Return the columns of one aggregator, under its own names."""
    prefix = f"{name}_"
    names = [column for column in partials.schema.names if column.startswith(prefix)]
    columns = [partials.column(column) for column in names]
    own = [column.removeprefix(prefix) for column in names]
    return pa.RecordBatch.from_arrays(columns, names=own)
