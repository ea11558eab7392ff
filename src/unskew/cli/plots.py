"""The picture of the demo: what each worker had to do, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from unskew.metrics import peak
from unskew.typing import Loads


def save_loads(file: Path, loads: Mapping[str, Loads], seconds: Mapping[str, float]) -> None:
    """Draw the loads of all workers side by side, one panel a run, on one scale."""
    from matplotlib import rc_context
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
    # Without a date, and with fixed names in it, the same figures give the same file.
    with rc_context({"svg.hashsalt": "unskew"}):
        figure.savefig(file, metadata={"Date": None} if file.suffix.lower() == ".svg" else None)
