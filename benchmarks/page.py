"""Write the tables of ``results.json`` into the pages: ``python -m benchmarks.page [section ...]``.

A table stands between ``<!-- name -->`` and ``<!-- end -->``; the words around it stay, and so do
the tables of sections that were not run. A section goes to ``docs/benchmarks.md`` unless its module
names another ``PAGE``, and draws its ``picture`` if it has one.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

from benchmarks.run import RESULTS, SECTIONS

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    """Replace each table of the sections asked for by the one last measured."""
    results = json.loads(RESULTS.read_text())
    pages: dict[str, dict[str, str]] = {}
    machines: dict[str, set[str]] = {}
    for section in sys.argv[1:] or [each for each in SECTIONS if each in results]:
        module = importlib.import_module(f"benchmarks.{section}")
        page = getattr(module, "PAGE", "benchmarks.md")
        machines.setdefault(page, set()).add(results[section]["machine"])
        for table in module.tables(results[section]):
            blocks = pages.setdefault(page, {})
            blocks[table.name] = f"{table.title}.\n\n{table.markdown()}"
        if hasattr(module, "picture"):
            module.picture(results[section])
    for page, blocks in pages.items():
        blocks["machine"] = "; ".join(sorted(machines[page]))
        (DOCS / page).write_text(_filled(page, blocks))


def _filled(page: str, blocks: dict[str, str]) -> str:
    text = (DOCS / page).read_text()
    for name, block in blocks.items():
        marked = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, found = marked.subn(lambda match, b=block: f"{match[1]}{b}\n{match[2]}", text)
        if not found:
            raise SystemExit(f"{page} has no place for {name!r}: <!-- {name} --> <!-- end -->")
    return text


if __name__ == "__main__":
    main()
