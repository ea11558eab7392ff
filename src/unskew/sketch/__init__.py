"""Sketches: the heavy keys of a stream in bounded memory."""

from unskew.sketch.counts import Counts
from unskew.sketch.decayed import DecayedSpaceSaving
from unskew.sketch.exact import ExactCounter
from unskew.sketch.lossy_counting import LossyCounting
from unskew.sketch.sliding import SlidingLossyCounting
from unskew.sketch.space_saving import SpaceSaving

__all__ = [
    "Counts",
    "DecayedSpaceSaving",
    "ExactCounter",
    "LossyCounting",
    "SlidingLossyCounting",
    "SpaceSaving",
]
