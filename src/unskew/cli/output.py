"""What commands give away: JSON for machines, plots for people."""

from __future__ import annotations

import importlib.util
import json
import math
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from unskew.errors import InvalidInputError

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
SaveOption = Annotated[
    Path | None,
    typer.Option("--save", help="Save a plot to this file: .png or .svg.", show_default=False),
]


def print_json(value: object) -> None:
    """Print JSON that any parser reads: no NaN, and text for what has no form in it."""
    typer.echo(json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """Give a value as JSON has it."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value.hex() if isinstance(value, bytes) else str(value)


def require_plot(file: Path | None) -> None:
    """Refuse a plot that could not be saved, before any work is done for it."""
    if file is None:
        return
    if file.suffix.lower() not in {".png", ".svg"}:
        raise InvalidInputError("--save", f"is {file}", "name a .png or .svg file")
    if file.is_dir():
        raise InvalidInputError("--save", f"is {file}, a folder", "name a file")
    target = file if file.exists() else file.parent
    if not (file.parent.is_dir() and os.access(target, os.W_OK)):
        raise InvalidInputError("--save", f"is {file}", f"{file.parent} must be a writable folder")
    if importlib.util.find_spec("matplotlib") is None:
        raise InvalidInputError(
            "--save", "needs matplotlib", 'install it with: pip install "unskew[plots]"'
        )
