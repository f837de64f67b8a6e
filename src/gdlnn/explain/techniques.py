"""The techniques by name, and the default."""

from __future__ import annotations

from gdlnn.errors import ExplanationError
from gdlnn.explain.contribution import Contribution
from gdlnn.explain.lime_shap import KernelShap, Lime

Technique = Contribution | Lime | KernelShap
TechniqueLike = str | Technique | None
TECHNIQUES: dict[str, type[Technique]] = {
    "contribution": Contribution,
    "lime": Lime,
    "kernel_shap": KernelShap,
}
"""The class of each technique, by name."""
DEFAULT_TECHNIQUE = "contribution"
"""The default technique in Python, on the command line, in the report and on the server."""


def make_technique(technique: TechniqueLike) -> Technique:
    """Return the technique with a name, the default for None, or the given technique."""
    given: object = DEFAULT_TECHNIQUE if technique is None else technique
    if isinstance(given, Technique):
        return given
    if isinstance(given, str) and given in TECHNIQUES:
        return TECHNIQUES[given]()
    got = repr(given) if isinstance(given, str) else f"a {type(given).__name__}"
    known = ", ".join(TECHNIQUES)
    raise ExplanationError(f"technique: expected one of {known}, or an object such as Lime(), got {got}")
