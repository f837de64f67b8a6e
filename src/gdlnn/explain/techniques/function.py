"""A technique of the user's own: any callable from a Problem to weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import ExplanationError
from gdlnn.explain.techniques.base import Attribution, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class FunctionTechnique:
    """Wraps a callable that takes a Problem and returns weights, graphs × programs.

    Parameters
    ----------
    function
        The callable.
    """

    def __init__(self, function: Callable[[Problem], Any]) -> None:
        self.function = function
        self.name = str(getattr(function, "__name__", type(function).__name__))

    def options(self) -> Mapping[str, Any]:
        """Return no settings: what the callable does is its own affair."""
        return {}

    def attribute(self, problem: Problem) -> Attribution:
        """Ask the callable, and check what it says."""
        given = self.function(problem)
        if isinstance(given, Attribution):
            return given
        weights = np.asarray(given, dtype=np.float64)
        if weights.shape != problem.values.shape:
            raise ExplanationError(
                f"technique {self.name}: expected weights of shape {problem.values.shape}, graphs × "
                f"programs, got {weights.shape}"
            )
        if not np.isfinite(weights).all():
            raise ExplanationError(f"technique {self.name}: expected finite weights, got NaN or infinity")
        return Attribution(weights)
