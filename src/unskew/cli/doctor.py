"""``unskew doctor``: whether Spark and unskew can work here, and what to do where they cannot."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from packaging.requirements import Requirement
from rich.console import Console
from rich.text import Text

from unskew.cli.output import JsonOption, print_json
from unskew.cli.session import local_spark, progress
from unskew.errors import UnskewError

_ROWS = 1_000


class Verdict(StrEnum):
    """How well something is."""

    FINE = "fine"
    NOTE = "note"
    BROKEN = "broken"


_COLOURS = {Verdict.FINE: "green", Verdict.NOTE: "yellow", Verdict.BROKEN: "bold red"}


class Finding(NamedTuple):
    """What was looked at, what it is like, and what to do about it."""

    what: str
    verdict: Verdict
    found: str
    remedy: str = ""


def doctor(
    job: Annotated[bool, typer.Option(help="Run a small job on local Spark, too.")] = True,
    json: JsonOption = False,
) -> None:
    """Check Java, PySpark, Arrow and the settings, and say what to do.

    Exits with 1 if something is broken; notes are worth reading, and break nothing.

    Example: unskew doctor --no-job
    """
    findings = [*_environment(), *_packages()]
    if job and not any(each.verdict is Verdict.BROKEN for each in findings):
        findings.append(_job())
    well = all(each.verdict is not Verdict.BROKEN for each in findings)
    if json:
        print_json({"well": well, "findings": [each._asdict() for each in findings]})
    else:
        _show(Console(), findings, well=well)
    if not well:
        raise typer.Exit(1)


def _environment() -> Iterator[Finding]:
    yield Finding("Python", Verdict.FINE, f"{platform.python_version()} in {sys.executable}")
    yield _java()
    yield from _interpreters()
    yield _spark_home()
    yield _kernels()


def _java() -> Finding:
    from unskew.spark.java import find_java

    try:
        java = find_java()
    except UnskewError as error:
        return Finding("Java", Verdict.BROKEN, error.message, 'pip install "unskew[java]"')
    found = f"{java.version} in {java.home}"
    if java.java_home is None:
        return Finding("Java", Verdict.FINE, found)
    return Finding(
        "Java",
        Verdict.NOTE,
        f"{found}, which plain Spark would not find",
        f"for sessions of your own: export JAVA_HOME={java.java_home}",
    )


def _interpreters() -> Iterator[Finding]:
    """Look at which Python the workers of Spark would run: another one may lack all of this."""
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        value = os.environ.get(name)
        if value is None:
            if name == "PYSPARK_PYTHON":
                yield Finding(
                    name,
                    Verdict.NOTE,
                    "not set: workers run the first python3 on PATH",
                    f"for sessions of your own: export {name}={sys.executable}",
                )
        elif Path(value) == Path(sys.executable):
            yield Finding(name, Verdict.FINE, value)
        else:
            yield Finding(
                name,
                Verdict.NOTE,
                f"{value}, not this interpreter",
                f"unless it is what you want: export {name}={sys.executable}",
            )


def _spark_home() -> Finding:
    value = os.environ.get("SPARK_HOME")
    if value is None:
        return Finding("SPARK_HOME", Verdict.FINE, "not set: Spark is the one in pyspark")
    if not Path(value, "bin", "spark-submit").exists():
        return Finding(
            "SPARK_HOME", Verdict.BROKEN, f"{value}, where there is no Spark", "unset SPARK_HOME"
        )
    return Finding(
        "SPARK_HOME", Verdict.NOTE, value, "it must be of the same version as pyspark, below"
    )


def _kernels() -> Finding:
    from unskew._kernel import cache_folder

    folder = cache_folder()
    if os.access(folder, os.W_OK):
        return Finding("kernel cache", Verdict.FINE, str(folder))
    return Finding(
        "kernel cache",
        Verdict.NOTE,
        f"{folder}, which cannot be written",
        "workers that find no kernels there compile them, for seconds: make it writable once",
    )


def _packages() -> Iterator[Finding]:
    """Compare what is installed with what unskew asks for."""
    extras: dict[str, list[str]] = {}
    for line in metadata.requires("unskew") or []:
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            yield _package(needed)
            continue
        for extra in metadata.metadata("unskew").get_all("Provides-Extra") or []:
            if extra != "dev" and needed.marker.evaluate({"extra": extra}):
                version = _version(needed.name)
                missing = version is None or version not in needed.specifier
                extras.setdefault(extra, []).extend([needed.name] if missing else [])
    for extra, absent in extras.items():
        what = f"unskew[{extra}]"
        if not absent:
            yield Finding(what, Verdict.FINE, "installed")
        else:
            yield Finding(
                what, Verdict.NOTE, f"no {', '.join(absent)}", f'if needed: pip install "{what}"'
            )


def _package(needed: Requirement) -> Finding:
    version = _version(needed.name)
    remedy = f'pip install "{needed.name}{needed.specifier}"'
    if version is None:
        return Finding(needed.name, Verdict.BROKEN, "not installed", remedy)
    if not needed.specifier.contains(version, prereleases=True):
        wanted = f"{version}, not {needed.specifier}"
        return Finding(needed.name, Verdict.BROKEN, wanted, remedy)
    return Finding(needed.name, Verdict.FINE, version)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _job() -> Finding:
    import unskew

    try:
        with progress("starting Spark") as say, local_spark(0) as spark:
            say("routing a few rows")
            rows = unskew.repartition(spark.range(_ROWS), 4, "id").count()
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here is the finding
        message = error.message if isinstance(error, UnskewError) else repr(error)
        return Finding(
            "a job on Spark", Verdict.BROKEN, message, "see the other findings, and Spark's log"
        )
    if rows != _ROWS:
        return Finding("a job on Spark", Verdict.BROKEN, f"{rows} of {_ROWS} rows came back")
    return Finding("a job on Spark", Verdict.FINE, f"{rows:,} rows routed, none lost")


def _show(console: Console, findings: list[Finding], *, well: bool) -> None:
    width = max(len(each.what) for each in findings)
    for each in findings:
        line = Text.assemble(
            (f"{each.verdict:6}", _COLOURS[each.verdict]), f"  {each.what:{width}}  {each.found}"
        )
        if each.remedy:
            line.append(f"\n{'':{width + 10}}{each.remedy}", style="bold")
        console.print(line, soft_wrap=True)
    console.print("All is well." if well else "Something is broken: see above.", highlight=False)
