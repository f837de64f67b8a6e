"""Attribution: the weights of programs, and the interface of techniques that compute them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ExplanationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gdlnn.explain.context import Context

FloatArray = npt.NDArray[np.float64]


class Attribution(NamedTuple):
    """Weights per graph and program, zero for unimportant programs.

    Attributes
    ----------
    weights
        Graphs × programs.
    quality
        Per graph how well the weights describe the model nearby (R² for LIME), or None.
    baseline
        Per graph the log odds of the target where no program is present, if weights are what present
        programs add to them; else None.
    others
        Per graph what pooled features add to the log odds, where weights are such contributions.
    absent
        Graphs × programs: what the absence of a program adds, compared with a graph that has it as often as
        training graphs do; zero for present programs. None where that is not known.
    """

    weights: FloatArray
    quality: FloatArray | None = None
    baseline: FloatArray | None = None
    others: FloatArray | None = None
    absent: FloatArray | None = None


@runtime_checkable
class Technique(Protocol):
    """A way to weight programs. Options are attributes of the object, set on construction."""

    name: str

    def attribute(self, context: Context) -> Attribution:
        """Compute the weights of the programs for each graph of the context."""
        ...

    def options(self) -> Mapping[str, Any]:
        """Return the settings that determine the result."""
        ...


class FunctionTechnique:
    """Wraps a callable that takes a Context and returns weights, graphs × programs.

    Parameters
    ----------
    function
        The callable.
    """

    def __init__(self, function: Callable[[Context], Any]) -> None:
        self.function = function
        self.name = str(getattr(function, "__name__", type(function).__name__))

    def options(self) -> Mapping[str, Any]:
        """Return an empty dictionary: the settings of a callable are unknown."""
        return {}

    def attribute(self, context: Context) -> Attribution:
        """Call the function and check what it returns."""
        given = self.function(context)
        if isinstance(given, Attribution):
            return given
        weights = np.asarray(given, dtype=np.float64)
        if weights.shape != context.values.shape:
            raise ExplanationError(
                f"technique {self.name}: expected weights of shape {context.values.shape}, graphs × "
                f"programs, got {weights.shape}"
            )
        if not np.isfinite(weights).all():
            raise ExplanationError(f"technique {self.name}: expected finite weights, got NaN or infinity")
        return Attribution(weights)
