"""The default classifier with one choice changed, for the ablation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gdlnn.model import GDLNNClassifier, Mined, Neighborhoods
from gdlnn.model.mixture import MixtureHead
from repro.inputs import data_fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import GraphDataset
    from gdlnn.mining import ProgramSet
    from gdlnn.model.vocabulary import RunOptions, Source

N_KEPT = 4
"""How many sets of mined programs a process keeps: the variants of a split differ in how they mine."""
_kept: dict[tuple[str, str], list[ProgramSet]] = {}


@dataclass(eq=False, repr=False)
class KeptMined(Mined):
    """`Mined` that keeps its last results, since most variants of a split mine the same programs."""

    def find(self, train: GraphDataset, run: RunOptions) -> list[ProgramSet]:
        """Mine once for each ε, or return what was mined from the same graphs before."""
        key = (data_fingerprint(train), repr((self.get_params(deep=False), run.random_state)))
        if key not in _kept:
            while len(_kept) >= N_KEPT:
                del _kept[next(iter(_kept))]
            _kept[key] = super().find(train, run)
        return _kept[key]


def ablated_classifier(
    *,
    sources: Sequence[str] = ("neighborhoods",),
    levels: Sequence[str] = ("full", "coarse"),
    head: Any = None,
    **others: Any,
) -> GDLNNClassifier:
    """Return the classifier of a variant; without changes, the default.

    `levels` are those of neighborhoods, `head` the parameters of a `MixtureHead` or the name of a head,
    `others` parameters of `GDLNNClassifier`.
    """
    known: dict[str, Source] = {"neighborhoods": Neighborhoods(levels=tuple(levels)), "mined": KeptMined()}
    made = head if isinstance(head, str) else MixtureHead(**(head or {}))
    return GDLNNClassifier([known[name] for name in sources], made, **others)
