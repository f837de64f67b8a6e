"""What GDLNN is compared with: graph networks, graph kernels, fingerprints, the majority class.

All are scikit-learn classifiers over graphs with the interface of `GDLNNClassifier`. Loaded when first used:
torch and scikit-learn take seconds. PL4XGL lives with the model, whose programs it shares.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gdlnn.baselines.fingerprints import FingerprintForestClassifier
    from gdlnn.baselines.gnn import GATClassifier, GCNClassifier, GINClassifier, PoolingMLPClassifier
    from gdlnn.baselines.kernels import WLClassifier, WLOAClassifier
    from gdlnn.baselines.majority import MajorityClassifier

_HOMES = {
    "FingerprintForestClassifier": "gdlnn.baselines.fingerprints",
    "GATClassifier": "gdlnn.baselines.gnn",
    "GCNClassifier": "gdlnn.baselines.gnn",
    "GINClassifier": "gdlnn.baselines.gnn",
    "MajorityClassifier": "gdlnn.baselines.majority",
    "PoolingMLPClassifier": "gdlnn.baselines.gnn",
    "WLClassifier": "gdlnn.baselines.kernels",
    "WLOAClassifier": "gdlnn.baselines.kernels",
}

__all__ = [
    "FingerprintForestClassifier",
    "GATClassifier",
    "GCNClassifier",
    "GINClassifier",
    "MajorityClassifier",
    "PoolingMLPClassifier",
    "WLClassifier",
    "WLOAClassifier",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
