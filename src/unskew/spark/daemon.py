"""A Python daemon for Spark that loads the kernels once, before it forks the workers.

Spark runs ``python -m <spark.python.daemon.module> pyspark.worker`` on each executor and asks that
process to fork a worker whenever it needs one. Importing Numba and loading the cached kernels costs
each worker seconds; a worker forked from this daemon finds both in memory. `local_session` sets it.
Elsewhere, where the executors have ``unskew`` installed, set
``spark.python.daemon.module=unskew.spark.daemon``.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import traceback

from pyspark.daemon import manager


def main() -> None:
    """Load the kernels, then serve as Spark's own daemon does."""
    # A fork copies only the calling thread, so a BLAS pool started here would be dead in workers.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Spark reads the daemon's port from standard output, and would take any print for it.
    with contextlib.redirect_stdout(sys.stderr):
        _preload()
    # Workers collect garbage after each task and need not look through what they share.
    gc.collect()
    gc.freeze()
    manager()


def _preload() -> None:
    try:
        from unskew import _kernel
        from unskew.grouping.catalog import warm_up

        _kernel.preload()
        warm_up()  # compiles what the cache lacks, once on a machine, so that no worker does
    except Exception:  # noqa: BLE001 - without kernels in memory workers are slower, not wrong
        traceback.print_exc()


if __name__ == "__main__":
    main()
