"""Techniques: which programs of the GDL layer made the model say what it said.

Each is a file of its own behind the interface in `base`; `make_technique` knows them by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gdlnn.errors import ExplanationError
from gdlnn.explain.techniques.base import Attribution, Background, Instead, Problem, Technique
from gdlnn.explain.techniques.function import FunctionTechnique
from gdlnn.explain.techniques.integrated_gradients import IntegratedGradients
from gdlnn.explain.techniques.kernel_shap import KernelShap
from gdlnn.explain.techniques.lime import Lime
from gdlnn.explain.techniques.linear import LinearWeights

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "TECHNIQUES",
    "Attribution",
    "Background",
    "FunctionTechnique",
    "Instead",
    "IntegratedGradients",
    "KernelShap",
    "Lime",
    "LinearWeights",
    "Problem",
    "Technique",
    "make_technique",
]

TECHNIQUES: dict[str, Callable[[], Technique]] = {
    "lime": Lime,
    "lime_present": lambda: Lime(present_only=True),
    "lime_contribution": lambda: Lime(contributions=True),
    "kernel_shap": KernelShap,
    "integrated_gradients": IntegratedGradients,
    "linear": LinearWeights,
}


def make_technique(technique: str | Technique | Callable[[Problem], Any]) -> Technique:
    """Return the technique of a name, or what was given, be it a technique or any callable."""
    if isinstance(technique, str):
        if technique not in TECHNIQUES:
            known = ", ".join(TECHNIQUES)
            raise ExplanationError(f"technique: expected one of {known}, or a callable, got {technique!r}")
        return TECHNIQUES[technique]()
    if isinstance(technique, Technique):
        return technique
    if callable(technique):
        return FunctionTechnique(technique)
    known = ", ".join(TECHNIQUES)
    kind = type(technique).__name__
    raise ExplanationError(f"technique: expected one of {known}, or a callable, got a {kind}")
