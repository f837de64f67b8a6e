"""The model: programs as features, a head that classifies, and the model file.

Everything is imported on first use: scikit-learn takes a second, torch several.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gdlnn.model.classifier import GDLNNClassifier
    from gdlnn.model.head import MLPHead
    from gdlnn.model.layer import GDLTransformer
    from gdlnn.model.mixture import ForestHead, MixtureHead
    from gdlnn.model.model_file import load_model, save_model
    from gdlnn.model.pooling import PooledFeatures
    from gdlnn.model.program_effects import group_contributions
    from gdlnn.model.regressor import GDLNNRegressor
    from gdlnn.model.scorecard import ScorecardHead, scorecard_rows, scorecard_text
    from gdlnn.model.vocabulary import Mined, Neighborhoods

_HOMES = {
    "ForestHead": "gdlnn.model.mixture",
    "GDLNNClassifier": "gdlnn.model.classifier",
    "GDLNNRegressor": "gdlnn.model.regressor",
    "GDLTransformer": "gdlnn.model.layer",
    "MLPHead": "gdlnn.model.head",
    "MixtureHead": "gdlnn.model.mixture",
    "Mined": "gdlnn.model.vocabulary",
    "Neighborhoods": "gdlnn.model.vocabulary",
    "PooledFeatures": "gdlnn.model.pooling",
    "ScorecardHead": "gdlnn.model.scorecard",
    "group_contributions": "gdlnn.model.program_effects",
    "load_model": "gdlnn.model.model_file",
    "save_model": "gdlnn.model.model_file",
    "scorecard_rows": "gdlnn.model.scorecard",
    "scorecard_text": "gdlnn.model.scorecard",
}

__all__ = [
    "ForestHead",
    "GDLNNClassifier",
    "GDLNNRegressor",
    "GDLTransformer",
    "MLPHead",
    "Mined",
    "MixtureHead",
    "Neighborhoods",
    "PooledFeatures",
    "ScorecardHead",
    "group_contributions",
    "load_model",
    "save_model",
    "scorecard_rows",
    "scorecard_text",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
