"""How long a local session takes to its first result, in a new process each time.

Run as ``python -m benchmarks.startup [repeats]``. The first job runs an Arrow UDF and a shuffle.
"""

import statistics
import subprocess
import sys

from unskew.spark.archive import QUICK_FLAGS, archive_path
from unskew.spark.java import find_java

JOB = """
import sys, time
started = time.perf_counter()
import pyarrow as pa
from pyspark.sql import functions as F
from unskew.spark import local_session

flags = sys.argv[2:]
conf = {"spark.driver.extraJavaOptions": flags[0]} if flags else {}
spark = local_session(quick=sys.argv[1] == "quick", conf=conf)
session = time.perf_counter() - started

@F.arrow_udf("long")
def same(values: pa.Array) -> pa.Array:
    return values

spark.range(1000).select(same("id").alias("id")).groupBy("id").count().collect()
print(session, time.perf_counter() - started)
"""

VARIANTS = {
    "default": ["default"],
    "quick flags": ["quick", " ".join(QUICK_FLAGS)],
    "quick flags and archive": ["quick"],
}


def measure(arguments: list[str]) -> tuple[float, float]:
    """Give the seconds to the session and to the first result, imports included."""
    output = subprocess.run(
        [sys.executable, "-c", JOB, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    ).stdout
    session, result = output.splitlines()[-1].split()
    return float(session), float(result)


def main() -> None:
    """Print the median of each variant; the variants take turns, so that noise hits all alike."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    java = find_java()
    if not archive_path(java).exists():
        print("No archive: the last two variants are the same. `make setup` builds it.")
    print(f"Java {java.build}; median of {repeats}")
    rounds = [
        {name: measure(arguments) for name, arguments in VARIANTS.items()} for _ in range(repeats)
    ]
    for name in VARIANTS:
        session = statistics.median(each[name][0] for each in rounds)
        result = statistics.median(each[name][1] for each in rounds)
        print(f"{name:24}  session {session:5.1f} s   first result {result:5.1f} s")


if __name__ == "__main__":
    main()
