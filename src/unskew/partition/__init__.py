"""Plans of which keys, or groups of keys, belong to which worker.

Gedik's partitioning functions: a `Planner` turns the function in use and the `Frequencies` of late
into a `Plan`, which has the function to use next and lists what it makes move. Flux, for key
groups: `flux`.

>>> import numpy as np
>>> from unskew import hash_keys
>>> keys = hash_keys(["hot", "warm", "cool", "cold"])
>>> frequencies = Frequencies(keys, np.array([0.4, 0.3, 0.2, 0.1]))
>>> alone = consistent_function(n_workers=2)
>>> plan = Planner(construction="scan").plan(alone, frequencies)
>>> plan.function.lookup(keys).tolist(), plan.migration(alone).total
([1, 0, 0, 1], 0.5)
"""

from unskew.partition.construct import CONSTRUCTIONS
from unskew.partition.flux import FluxPlan, Move, flux
from unskew.partition.frequencies import Counted, Frequencies
from unskew.partition.function import PartitionFunction, consistent_function
from unskew.partition.penalties import UTILITIES
from unskew.partition.plan import KeyMove, Migration, Plan, Planner
from unskew.partition.quality import Quality, quality
from unskew.partition.resources import Resources

__all__ = [
    "CONSTRUCTIONS",
    "UTILITIES",
    "Counted",
    "FluxPlan",
    "Frequencies",
    "KeyMove",
    "Migration",
    "Move",
    "PartitionFunction",
    "Plan",
    "Planner",
    "Quality",
    "Resources",
    "consistent_function",
    "flux",
    "quality",
]
