"""Explanations: which programs decided, where they match in the graph, and how good the explanation is."""

from gdlnn.explain.attribution import Attribution, Technique
from gdlnn.explain.context import Background, Context
from gdlnn.explain.contribution import IntegratedGradients, LinearWeights
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
from gdlnn.explain.kernel_shap import KernelShap
from gdlnn.explain.lime import Lime
from gdlnn.explain.subgraph import Shrunk, shrink
from gdlnn.explain.techniques import DEFAULT_TECHNIQUE, TECHNIQUES
from gdlnn.model.base import SelfExplaining

__all__ = [
    "DEFAULT_TECHNIQUE",
    "TECHNIQUES",
    "Attribution",
    "Background",
    "Context",
    "Counterfactual",
    "Explanation",
    "GlobalClass",
    "GlobalExample",
    "GlobalExplanation",
    "GlobalProgram",
    "IntegratedGradients",
    "KernelShap",
    "Lime",
    "LinearWeights",
    "SelfExplaining",
    "Shrunk",
    "Technique",
    "counterfactual",
    "explain",
    "explain_model",
    "shrink",
]
