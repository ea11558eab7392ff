"""Pictures: what each worker had to do, before and after; what balance costs in replicas."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unskew.metrics import peak
from unskew.typing import Loads

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_loads(file: Path, loads: Mapping[str, Loads], seconds: Mapping[str, float]) -> None:
    """Draw the loads of all workers side by side, one panel a run, on one scale."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(loads), sharey=True))
    for axes, (name, each) in zip(panels, loads.items(), strict=True):
        ordered = np.sort(each)[::-1]
        colour = "tab:green" if peak(each) < 1.1 else "tab:red"
        axes.bar(np.arange(1, len(ordered) + 1), ordered, color=colour, width=0.85)
        axes.axhline(ordered.mean(), color="black", linewidth=1, linestyle="--", label="average")
        axes.set_title(f"{name}: {seconds[name]:.1f} s, the busiest {peak(each):.1f} x average")
        axes.set_xlabel("worker, busiest first")
        axes.spines[["top", "right"]].set_visible(False)
        axes.yaxis.set_major_formatter("{x:,.0f}")
    panels[0].set_ylabel("rows")
    panels[0].legend(frameon=False)
    _save(figure, file)


def save_tradeoff(file: Path, panels: Mapping[str, Mapping[str, tuple[float, float]]]) -> None:
    """Draw each scheme as a point, replicas a key against imbalance: one panel a stream.

    Both scales are logarithmic. Imbalance below a thousandth is drawn as a thousandth.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.8), layout="constrained")
    row = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
    for axes, (title, points) in zip(row, panels.items(), strict=True):
        together: dict[tuple[float, float], list[str]] = {}
        for name, (replicas, above) in points.items():
            at = (round(math.log10(replicas), 1), round(math.log10(max(above, 1e-3)), 1))
            together.setdefault(at, []).append(name)
        for names in together.values():  # those that lie on one another share a label
            ours = "waterline" in names
            place = [np.maximum(points[name], (0, 1e-3)) for name in names]
            axes.scatter(*zip(*place, strict=True), color="tab:green" if ours else "tab:gray")
            axes.annotate(
                "\n".join(names),
                tuple(place[0]),
                xytext=(4, 4),
                textcoords="offset points",
                fontsize=8,
                fontweight="bold" if ours else "normal",
                rotation=30,
            )
        axes.set(title=title, xlabel="replicas a key", xscale="log", yscale="log")
        axes.set_ylim(5e-4, 200)
        axes.set_xlim(0.9, 200)
        axes.spines[["top", "right"]].set_visible(False)
    row[0].set_ylabel("busiest worker over the average, less 1")
    _save(figure, file)


def _save(figure: Figure, file: Path) -> None:
    from matplotlib import rc_context

    # Without a date, and with fixed names in it, the same figures give the same file.
    with rc_context({"svg.hashsalt": "unskew"}):
        figure.savefig(file, metadata={"Date": None} if file.suffix.lower() == ".svg" else None)
