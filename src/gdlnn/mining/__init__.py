"""Mining: find programs in labeled graphs, and collect, rank and compare them.

The descent itself is in the core. This package lists and runs descents, writes checkpoints, and merges, ranks
and saves programs.
"""

from gdlnn.mining.miner import mine
from gdlnn.mining.neighborhood_programs import neighborhoods
from gdlnn.mining.program_set import MinedProgram, ProgramSet, SetInfo

__all__ = [
    "MinedProgram",
    "ProgramSet",
    "SetInfo",
    "mine",
    "neighborhoods",
]
