"""What is measured of a running or a planned job, and what follows from it."""

from __future__ import annotations

from unskew.control.advice import Advice, CostModel, advise_on_sample

__all__ = ["Advice", "CostModel", "advise_on_sample"]
