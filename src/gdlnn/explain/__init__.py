"""Explanations: which programs decided, where they match in the graph, and how good the explanation is."""

from gdlnn.explain.closed_form import closed_form, closed_forms, with_closed_forms
from gdlnn.explain.counterfactual import Counterfactual, counterfactual
from gdlnn.explain.explainer import explain
from gdlnn.explain.explanation import Explanation
from gdlnn.explain.global_explanation import (
    GlobalClass,
    GlobalExample,
    GlobalExplanation,
    GlobalProgram,
    explain_model,
)
from gdlnn.explain.lime_shap import KernelShap, Lime
from gdlnn.explain.subgraph import Shrunk, shrink
from gdlnn.explain.techniques import DEFAULT_TECHNIQUE, TECHNIQUES

__all__ = [
    "DEFAULT_TECHNIQUE",
    "TECHNIQUES",
    "Counterfactual",
    "Explanation",
    "GlobalClass",
    "GlobalExample",
    "GlobalExplanation",
    "GlobalProgram",
    "KernelShap",
    "Lime",
    "Shrunk",
    "closed_form",
    "closed_forms",
    "counterfactual",
    "explain",
    "explain_model",
    "shrink",
    "with_closed_forms",
]
