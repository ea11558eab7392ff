"""Spark, the engine that runs the groupings; the only package that imports pyspark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew.spark.session import local_session

__all__ = ["local_session"]


def __getattr__(name: str) -> Any:
    # The Python daemon and `make` import single modules of this package, which must stay cheap.
    if name == "local_session":
        from unskew.spark.session import local_session

        return local_session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
