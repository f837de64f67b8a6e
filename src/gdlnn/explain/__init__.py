"""Explanations: which programs decided, where they are in the graph, and how far to trust that."""

from gdlnn.explain.closed_form import closed_form, closed_forms, with_closed_forms
from gdlnn.explain.counterfactual import Counterfactual, counterfactual
from gdlnn.explain.explainer import explain
from gdlnn.explain.explanation import Explanation
from gdlnn.explain.global_ import GlobalExplanation, GlobalProgram, explain_model
from gdlnn.explain.subgraph import Shrunk, shrink
from gdlnn.explain.techniques import (
    TECHNIQUES,
    IntegratedGradients,
    KernelShap,
    Lime,
    LinearWeights,
    Problem,
    Technique,
)

__all__ = [
    "TECHNIQUES",
    "Counterfactual",
    "Explanation",
    "GlobalExplanation",
    "GlobalProgram",
    "IntegratedGradients",
    "KernelShap",
    "Lime",
    "LinearWeights",
    "Problem",
    "Shrunk",
    "Technique",
    "closed_form",
    "closed_forms",
    "counterfactual",
    "explain",
    "explain_model",
    "shrink",
    "with_closed_forms",
]
