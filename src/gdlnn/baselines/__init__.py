"""What GDLNN is compared with: graph networks and their explainers, kernels, fingerprints, majority class.

The classifiers are scikit-learn classifiers over graphs with the interface of `GDLNNClassifier`. Loaded when
first used: torch and scikit-learn take seconds. PL4XGL lives with the model, whose programs it shares.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gdlnn.baselines.attributions import GNNExplainer, NodeIntegratedGradients
    from gdlnn.baselines.fingerprints import FingerprintForestClassifier
    from gdlnn.baselines.gnn import GATClassifier, GCNClassifier, GINClassifier, PoolingMLPClassifier
    from gdlnn.baselines.kernels import WLClassifier, WLOAClassifier
    from gdlnn.baselines.majority import MajorityClassifier
    from gdlnn.baselines.node_explanation import NodeExplanation
    from gdlnn.baselines.subgraphx import SubgraphX

_HOMES = {
    "FingerprintForestClassifier": "gdlnn.baselines.fingerprints",
    "GATClassifier": "gdlnn.baselines.gnn",
    "GCNClassifier": "gdlnn.baselines.gnn",
    "GINClassifier": "gdlnn.baselines.gnn",
    "GNNExplainer": "gdlnn.baselines.attributions",
    "MajorityClassifier": "gdlnn.baselines.majority",
    "NodeExplanation": "gdlnn.baselines.node_explanation",
    "NodeIntegratedGradients": "gdlnn.baselines.attributions",
    "PoolingMLPClassifier": "gdlnn.baselines.gnn",
    "SubgraphX": "gdlnn.baselines.subgraphx",
    "WLClassifier": "gdlnn.baselines.kernels",
    "WLOAClassifier": "gdlnn.baselines.kernels",
}

__all__ = [
    "FingerprintForestClassifier",
    "GATClassifier",
    "GCNClassifier",
    "GINClassifier",
    "GNNExplainer",
    "MajorityClassifier",
    "NodeExplanation",
    "NodeIntegratedGradients",
    "PoolingMLPClassifier",
    "SubgraphX",
    "WLClassifier",
    "WLOAClassifier",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
