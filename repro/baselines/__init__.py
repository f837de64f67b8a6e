"""What GDLNN is compared with: graph networks and their explainers, kernels, fingerprints, majority class.

The classifiers are scikit-learn classifiers over graphs with the interface of `GDLNNClassifier`. PL4XGL is in
`repro.pl4xgl`.
"""

from repro.baselines.base import (
    FingerprintForestClassifier,
    MajorityClassifier,
    PooledForestClassifier,
)
from repro.baselines.gnn import GATClassifier, GCNClassifier, GINClassifier, PoolingMLPClassifier
from repro.baselines.kernels import WLClassifier, WLOAClassifier
from repro.baselines.node_explainers import GNNExplainer, NodeExplanation, NodeIntegratedGradients
from repro.baselines.subgraphx import SubgraphX

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
