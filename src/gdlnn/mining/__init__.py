"""Mining: programs from labelled graphs, sets of them, and what they are compared with.

The descent itself is in the core; which descents there are, on what they run, what they leave on disk and how
their programs are merged, ranked and saved is here.
"""

from gdlnn.mining.baseline import random_programs
from gdlnn.mining.estimate import Estimate, estimate
from gdlnn.mining.miner import mine
from gdlnn.mining.objective import objective
from gdlnn.mining.program_set import MinedProgram, MiningStats, ProgramSet, SetInfo

__all__ = [
    "Estimate",
    "MinedProgram",
    "MiningStats",
    "ProgramSet",
    "SetInfo",
    "estimate",
    "mine",
    "objective",
    "random_programs",
]
