"""Write the tables of ``results.json`` into ``docs/benchmarks.md``: ``python -m benchmarks.page``.

A table stands between ``<!-- name -->`` and ``<!-- end -->``; the words around it stay, and so do
the tables of sections that were not run.
"""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

from benchmarks.run import RESULTS, SECTIONS

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def main() -> None:
    """Replace each table on the page by the one last measured."""
    results = json.loads(RESULTS.read_text())
    measured = [section for section in SECTIONS if section in results]
    blocks = {"machine": "; ".join(sorted({results[section]["machine"] for section in measured}))}
    for section in measured:
        for table in importlib.import_module(f"benchmarks.{section}").tables(results[section]):
            blocks[table.name] = f"{table.title}.\n\n{table.markdown()}"
    text = PAGE.read_text()
    for name, block in blocks.items():
        marked = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, found = marked.subn(lambda match, b=block: f"{match[1]}{b}\n{match[2]}", text)
        if not found:
            raise SystemExit(f"{PAGE.name} has no place for {name!r}: <!-- {name} --> <!-- end -->")
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
