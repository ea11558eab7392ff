"""The Spark tier: one session serves all its tests, since starting one takes seconds."""

from pathlib import Path

import pytest

from unskew.spark import local_session

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    warehouse = tmp_path_factory.mktemp("warehouse")
    session = local_session(
        "unskew-tests",
        cores=2,
        quick=True,
        conf={
            "spark.sql.warehouse.dir": str(warehouse),
            # Not the number of cores, so that a test notices which of the two it depends on.
            "spark.sql.shuffle.partitions": 3,
            # It asks for the caller of every function of every column, for messages of errors.
            "spark.python.sql.dataFrameDebugging.enabled": False,
        },
    )
    yield session
    session.stop()
