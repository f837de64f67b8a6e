"""The default classifier with one choice changed, for the ablation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gdlnn.model import GDLNNClassifier, Mined, MLPHead, Neighborhoods
from gdlnn.model.head import linear_head
from gdlnn.model.scorecard import ScorecardHead
from gdlnn.model.vocabulary import GENERAL_EPSILONS
from repro.inputs import data_fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import GraphDataset
    from gdlnn.mining import ProgramSet
    from gdlnn.mining.bags import Bags
    from gdlnn.mining.settings import Nominal
    from gdlnn.model.vocabulary import RunOptions, Source

N_TREES = 500
N_KEPT = 4
"""How many sets of mined programs a process keeps: the variants of a split differ in how they mine."""
_kept: dict[tuple[str, str], list[ProgramSet]] = {}


@dataclass(eq=False, repr=False)
class KeptMined(Mined):
    """`Mined` that keeps its last results, since most variants of a split mine the same programs."""

    def find(self, train: GraphDataset, run: RunOptions) -> list[ProgramSet]:
        """Mine once for each ε, or return what was mined from the same graphs before."""
        key = (data_fingerprint(train), repr((self.get_params(deep=False), run.seed)))
        if key not in _kept:
            while len(_kept) >= N_KEPT:
                del _kept[next(iter(_kept))]
            _kept[key] = super().find(train, run)
        return _kept[key]


def ablated_classifier(
    *,
    sources: Sequence[str] = ("neighborhoods", "mined"),
    nominal: Nominal = "value",
    bags: Bags = "auto",
    head: Literal["mlp", "linear", "scorecard", "forest"] = "mlp",
    device: str = "auto",
    **others: Any,
) -> GDLNNClassifier:
    """Return the classifier of a variant; without changes, the default for small datasets.

    `nominal` and `bags` are those of the mined programs, `others` parameters of `MLPHead` and of
    `GDLNNClassifier`.
    """
    known: dict[str, Source] = {
        "neighborhoods": Neighborhoods(),
        "mined": KeptMined(GENERAL_EPSILONS, targets="auto", bags=bags, nominal=nominal),
    }
    of_head = {name: others.pop(name) for name in MLPHead().get_params() if name in others and name != "seed"}
    made = _head(head, others.get("seed", 0), {**of_head, "device": device})
    return GDLNNClassifier([known[name] for name in sources], made, decide=0.5, **others)


def _head(kind: str, seed: int, options: dict[str, Any]) -> Any:
    if kind == "scorecard":
        return ScorecardHead()
    if kind == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(N_TREES, random_state=seed)
    if kind == "linear":
        return linear_head(**options)
    return MLPHead(**options)
