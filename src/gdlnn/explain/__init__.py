"""Explanations: which programs decided, where they match in the graph, and how good the explanation is."""

from gdlnn.explain.counterfactual import Counterfactual, counterfactual
from gdlnn.explain.explainer import DEFAULT_TECHNIQUE, TECHNIQUES, explain
from gdlnn.explain.explanation import Explanation, Reason
from gdlnn.explain.global_explanation import (
    GlobalClass,
    GlobalExample,
    GlobalExplanation,
    GlobalPlace,
    explain_model,
)
from gdlnn.explain.lime_shap import KernelShap, Lime
from gdlnn.explain.subgraph import Shrunk, shrink
from gdlnn.model.base import SelfExplaining

__all__ = [
    "DEFAULT_TECHNIQUE",
    "TECHNIQUES",
    "Counterfactual",
    "Explanation",
    "GlobalClass",
    "GlobalExample",
    "GlobalExplanation",
    "GlobalPlace",
    "KernelShap",
    "Lime",
    "Reason",
    "SelfExplaining",
    "Shrunk",
    "counterfactual",
    "explain",
    "explain_model",
    "shrink",
]
