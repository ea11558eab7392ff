"""Run the benchmarks: ``python -m benchmarks.run [--quick] [section ...]``, or ``make bench``.

Prints tables and writes what was measured to ``results.json`` beside this file, or, with
``--quick``, to ``results-quick.json``. Sections that are not run keep what they had there.
``python -m benchmarks.page`` then writes the tables into the pages under ``docs``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

SECTIONS = (
    "speed", "fidelity", "bounds", "capacities", "fish", "gedik", "waterline", "sketches",
    "cold_start", "startup", "on_spark",
)  # fmt: skip
RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    """Run the sections asked for, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="fewer tuples, seeds and repeats")
    arguments = parser.parse_args()
    for section in arguments.sections:
        if section not in SECTIONS:
            parser.error(f"no section {section!r}; there are {', '.join(SECTIONS)}")
    path = RESULTS.with_stem("results-quick") if arguments.quick else RESULTS
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    console = Console()
    for section in arguments.sections or SECTIONS:
        module = importlib.import_module(f"benchmarks.{section}")
        started = time.perf_counter()
        measured = module.measure(quick=arguments.quick)
        results[section] = {"machine": machine(), **measured}
        for table in module.tables(measured):
            table.show(console)
        console.print(f"{section}: {time.perf_counter() - started:.0f} s\n")
        path.write_text(json.dumps(results, indent=1) + "\n")
    console.print(f"Written to {path.parent.name}/{path.name}.")


def machine() -> str:
    """Describe the machine in a line, without naming it."""
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("numpy", "numba", "pyarrow", "pyspark")
    )
    python = f"Python {platform.python_version()}"
    return f"{processor()}; {python}, {packages}, datasketches {version('datasketches')}"


def processor() -> str:
    """Return the model of the processor and how many cores there are."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "")
    return f"{os.cpu_count()} cores, {model or platform.machine()}"


if __name__ == "__main__":
    main()
