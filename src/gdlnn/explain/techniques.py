"""The techniques by name, and the default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gdlnn.errors import ExplanationError
from gdlnn.explain.attribution import FunctionTechnique, Technique
from gdlnn.explain.context import Context
from gdlnn.explain.contribution import Contribution, IntegratedGradients, LinearWeights
from gdlnn.explain.kernel_shap import KernelShap
from gdlnn.explain.lime import Lime

TechniqueLike = str | Technique | Callable[[Context], Any] | None
TECHNIQUES: dict[str, Callable[[], Technique]] = {
    "contribution": Contribution,
    "lime": Lime,
    "lime_present": lambda: Lime(present_only=True),
    "lime_contribution": lambda: Lime(contributions=True),
    "kernel_shap": KernelShap,
    "integrated_gradients": IntegratedGradients,
    "linear": LinearWeights,
}
"""How to make each technique, by name."""
DEFAULT_TECHNIQUE = "contribution"
"""The default technique in Python, on the command line, in the report and on the server."""
NAMED_TECHNIQUES = ", ".join(TECHNIQUES)
"""The names of all techniques, for messages and help texts."""


def make_technique(technique: TechniqueLike) -> Technique:
    """Return the technique with a name, the default for None, or the given technique or callable."""
    if technique is None:
        technique = DEFAULT_TECHNIQUE
    if isinstance(technique, str) and technique in TECHNIQUES:
        return TECHNIQUES[technique]()
    given: object = technique
    if isinstance(given, Technique):
        return given
    if callable(given):
        return FunctionTechnique(given)
    got = repr(given) if isinstance(given, str) else f"a {type(given).__name__}"
    raise ExplanationError(f"technique: expected one of {NAMED_TECHNIQUES}, or a callable, got {got}")
