"""Cold start: what a new process pays before its first route.

Each figure is from a process of its own. They run on a copy of the package, so that the cache of
compiled kernels can be emptied without touching the one in use.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import unskew
from benchmarks.tables import Table, met

SCHEMES = ("key", "shuffle", "pkg", "w-choices", "d-choices")
NO_JIT = ("key", "shuffle")

_REPORT = """
import sys, time
print(time.process_time(), time.time() - float(sys.argv[1]), "numba" in sys.modules)
"""
_IMPORT = "import unskew, numpy as np\n"
_ROUTE = """
hashes = np.arange(10_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
unskew.grouping({name!r}, 100).build().route(hashes)
"""
_FORK = """
import os, sys, time
from unskew import _kernel
_kernel.preload()
hashes = np.arange(10_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
sys.stdout.flush()
forked = time.time()
if os.fork() == 0:
    unskew.grouping({name!r}, 100).build().route(hashes)
    print(time.process_time(), time.time() - forked, "numba" in sys.modules, flush=True)
    os._exit(0)
os.wait()
"""


def measure(*, quick: bool) -> dict[str, Any]:
    """Return CPU and wall seconds of each case, the best of several processes."""
    repeats = 2 if quick else 7
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "unskew"
        shutil.copytree(
            Path(unskew.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
        )
        _run(_IMPORT + _ROUTE.format(name="key"), folder)  # leaves byte code behind
        cold = {}
        for name in SCHEMES:
            for cache in (package / "__pycache__").glob("kernels-*"):
                shutil.rmtree(cache)
            cold[name] = _run(_IMPORT + _ROUTE.format(name=name), folder)
        routes = {name: _IMPORT + _ROUTE.format(name=name) for name in SCHEMES}
        for code in routes.values():
            _run(code, folder)
        cases = {
            "python": "",
            "import numpy": "import numpy",
            "import numba": "import numba",
            "import unskew": _IMPORT,
            **{f"warm {name}": code for name, code in routes.items()},
        }
        preload = "from unskew import _kernel\n_kernel.preload()"
        cases["preload"] = _IMPORT + preload
        forks = {name: _IMPORT + _FORK.format(name=name) for name in SCHEMES}
        rounds = [
            {case: _run(code, folder) for case, code in cases.items()}
            | {f"forked {name}": _run(code, folder, report="") for name, code in forks.items()}
            for _ in range(repeats)
        ]
    best = {
        case: {
            "cpu": min(each[case]["cpu"] for each in rounds),
            "wall": min(each[case]["wall"] for each in rounds),
            "numba": any(each[case]["numba"] for each in rounds),
        }
        for case in rounds[0]
    }
    for name in NO_JIT:
        if best[f"warm {name}"]["numba"]:
            raise RuntimeError(f"a route of {name!r} imported numba")
    if best["import unskew"]["numba"]:
        raise RuntimeError("`import unskew` imported numba")
    return {"repeats": repeats, "best": best} | {"cold": cold}


def _run(code: str, folder: str, report: str = _REPORT) -> dict[str, Any]:
    environment = os.environ | {"PYTHONPATH": folder}
    output = subprocess.run(
        [sys.executable, "-c", code + report, str(time.time())],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    cpu, wall, numba = output.splitlines()[-1].split()
    return {"cpu": float(cpu), "wall": float(wall), "numba": numba == "True"}


def tables(results: dict[str, Any]) -> list[Table]:
    """Show what is imported, then the first route of each scheme by the state of the cache."""
    best, cold = results["best"], results["cold"]
    imports = Table(
        "imports",
        f"A new process, in seconds; best of {results['repeats']}",
        ("process", "CPU", "wall", "numba imported"),
    )
    labels = {
        "python": "Python alone",
        "import numpy": "`import numpy`",
        "import unskew": "`import unskew`",
        "import numba": "`import numba`",
        "preload": "`import unskew`, all kernels loaded (`preload`)",
    }
    for case, label in labels.items():
        figures = best[case]
        imports.add(
            label, f"{figures['cpu']:.2f}", f"{figures['wall']:.2f}", _yes(figures["numba"])
        )
    routes = Table(
        "first-route",
        f"First route of 10,000 tuples, n = 100; best of {results['repeats']}, compiling once",
        (
            "scheme", "CPU, s", "wall, s", "numba imported", "target", "CPU compiling, s",
            "CPU in a child forked after `preload`, ms",
        ),
    )  # fmt: skip
    for name in SCHEMES:
        figures = best[f"warm {name}"]
        routes.add(
            f"`{name}`",
            f"{figures['cpu']:.2f}",
            f"{figures['wall']:.2f}",
            _yes(figures["numba"]),
            f"no numba: {met(not figures['numba'])}" if name in NO_JIT else "-",
            f"{cold[name]['cpu']:.1f}" if cold[name]["numba"] else "-",
            f"{best[f'forked {name}']['cpu'] * 1000:.1f}",
        )
    return [imports, routes]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
