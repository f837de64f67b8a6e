"""What GDLNN is compared with: graph networks and their explainers, kernels, fingerprints, majority class.

The classifiers are scikit-learn classifiers over graphs with the interface of `GDLNNClassifier`. PL4XGL is in
`gdlnn.model`, since it shares its programs.
"""

from gdlnn.studies.baselines.base import (
    FingerprintForestClassifier,
    MajorityClassifier,
    PooledForestClassifier,
)
from gdlnn.studies.baselines.gnn import GATClassifier, GCNClassifier, GINClassifier, PoolingMLPClassifier
from gdlnn.studies.baselines.kernels import WLClassifier, WLOAClassifier
from gdlnn.studies.baselines.node_explainers import GNNExplainer, NodeExplanation, NodeIntegratedGradients
from gdlnn.studies.baselines.subgraphx import SubgraphX

__all__ = [
    "FingerprintForestClassifier",
    "GATClassifier",
    "GCNClassifier",
    "GINClassifier",
    "GNNExplainer",
    "MajorityClassifier",
    "NodeExplanation",
    "NodeIntegratedGradients",
    "PooledForestClassifier",
    "PoolingMLPClassifier",
    "SubgraphX",
    "WLClassifier",
    "WLOAClassifier",
]
