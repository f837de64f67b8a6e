"""Mining: programs from labelled graphs, sets of them, and what they are compared with.

The descent itself is in the core. Here are the list of descents, the ways to run them, their checkpoints, and
how their programs are merged, ranked and saved.
"""

from gdlnn.mining.comparison import objective, random_programs
from gdlnn.mining.estimate import Estimate, estimate
from gdlnn.mining.miner import mine
from gdlnn.mining.neighbourhood_programs import neighbourhoods
from gdlnn.mining.program_set import MinedProgram, MiningStats, ProgramSet, SetInfo

__all__ = [
    "Estimate",
    "MinedProgram",
    "MiningStats",
    "ProgramSet",
    "SetInfo",
    "estimate",
    "mine",
    "neighbourhoods",
    "objective",
    "random_programs",
]
