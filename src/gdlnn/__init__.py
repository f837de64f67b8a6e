"""GDLNN: predictions for graphs that can be read.

Programs are patterns found in graphs; a head predicts from those that a graph contains, and an explanation
names the places that decided. Names are loaded when first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gdlnn.datasets import load_dataset as load_dataset
    from gdlnn.datasets import load_jsonl as load_jsonl
    from gdlnn.datasets import load_sdf as load_sdf
    from gdlnn.datasets import load_smiles as load_smiles
    from gdlnn.datasets import load_tu as load_tu
    from gdlnn.datasets import make_ba_2motifs as make_ba_2motifs
    from gdlnn.errors import GDLNNError as GDLNNError
    from gdlnn.explain import Explanation as Explanation
    from gdlnn.explain import explain_model as explain_model
    from gdlnn.explain.counterfactual import counterfactual as counterfactual
    from gdlnn.gdl import Program as Program
    from gdlnn.graphs import Feature as Feature
    from gdlnn.graphs import Graph as Graph
    from gdlnn.graphs import GraphDataset as GraphDataset
    from gdlnn.graphs import Schema as Schema
    from gdlnn.mining import ProgramSet as ProgramSet
    from gdlnn.mining import mine as mine
    from gdlnn.model import GDLNNClassifier as GDLNNClassifier
    from gdlnn.model import GDLNNRegressor as GDLNNRegressor
    from gdlnn.model import GDLTransformer as GDLTransformer
    from gdlnn.model import Mined as Mined
    from gdlnn.model import MLPHead as MLPHead
    from gdlnn.model import Neighborhoods as Neighborhoods
    from gdlnn.model import ScorecardHead as ScorecardHead
    from gdlnn.model import load_model as load_model

    __version__: str

# The public names of each package. The imports above say the same to type checkers.
_NAMES = {
    "datasets": "load_dataset load_jsonl load_sdf load_smiles load_tu make_ba_2motifs",
    "errors": "GDLNNError",
    "explain": "Explanation counterfactual explain_model",
    "gdl": "Program",
    "graphs": "Feature Graph GraphDataset Schema",
    "mining": "ProgramSet mine",
    "model": "GDLNNClassifier GDLNNRegressor GDLTransformer MLPHead Mined Neighborhoods ScorecardHead"
    " load_model",
}
_HOMES = {name: f"gdlnn.{package}" for package, names in _NAMES.items() for name in names.split()}
__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("gdlnn")
        except PackageNotFoundError:  # the sources on the path, without an installation
            return "0+unknown"
    if name not in _HOMES:
        raise AttributeError(f"module 'gdlnn' has no attribute {name!r}")
    from gdlnn.errors import uninterrupted

    with uninterrupted():
        value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
