import ipaddress
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from unskew.errors import InvalidParameterError
from unskew.spark import local_session
from unskew.spark.archive import archive_flags, archive_path
from unskew.spark.java import Java


def test_workers_run_this_interpreter(spark):
    @F.arrow_udf("string")
    def executable(rows: pa.Array) -> pa.Array:
        import sys

        return pa.array([sys.executable] * len(rows))

    assert [row[0] for row in spark.range(1).select(executable("id")).collect()] == [sys.executable]


def test_a_task_may_fail_as_often_as_on_a_cluster(spark):
    @F.arrow_udf("long")
    def fails_twice(rows: pa.Array) -> pa.Array:
        from pyspark import TaskContext

        if TaskContext.get().attemptNumber() < 2:
            raise RuntimeError("first attempts fail")
        return rows

    result = spark.range(3, numPartitions=1).select(fails_twice("id").alias("id")).collect()

    assert [row.id for row in result] == [0, 1, 2]


def test_a_second_call_gives_the_active_session(spark):
    assert local_session("another name", cores=1) is spark


def test_no_cores_is_refused_before_anything_starts():
    with pytest.raises(InvalidParameterError, match="`cores` is 0"):
        local_session(cores=0)


def test_the_users_settings_win_over_those_made_here(spark):
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "3", "set so by the fixture"


def test_no_port_is_open_beyond_loopback(spark):
    jvm = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()

    addresses = listening_addresses(jvm)

    assert addresses, "the JVM serves its block manager and its Python gateway"
    assert all(address.is_loopback for address in addresses), addresses


def test_an_archive_is_used_only_where_it_exists(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    java = Java(tmp_path, 17, "17.0.1+1")
    assert archive_flags(java) == ()

    path = archive_path(java)
    path.parent.mkdir(parents=True)
    path.touch()

    assert archive_flags(java)[0] == f"-XX:SharedArchiveFile={path}"
    assert archive_flags(Java(tmp_path, 17, "17.0.2+1")) == ()


def listening_addresses(pid):
    """Addresses that a process listens on, from Linux's tables of sockets."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(str(descriptor.readlink()))
        except FileNotFoundError:
            continue  # closed since the folder was read
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            state, inode = fields[3], fields[9]
            if state == "0A" and f"socket:[{inode}]" in sockets:
                found.append(_address(fields[1].split(":")[0]))
    return found


def _address(digits):
    # The kernel prints addresses as 32-bit words in the machine's byte order.
    words = [bytes.fromhex(digits[i : i + 8]) for i in range(0, len(digits), 8)]
    packed = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    address = ipaddress.ip_address(packed)
    return getattr(address, "ipv4_mapped", None) or address
