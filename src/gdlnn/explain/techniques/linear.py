"""Exact weights: for a linear head nothing has to be estimated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gdlnn.errors import ExplanationError
from gdlnn.explain.techniques.base import Attribution, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping


class LinearWeights:
    """The contribution of each program to the score of a linear head.

    The weight of program j for class c is ``w[c, j] · (x[j] − mean of x[j] in training)``: the share it has
    in this graph's score beside that of an average graph, which is also its exact Shapley value. For two
    classes with one score, the weights of the first class are those of the second turned round.
    """

    name = "linear"

    def options(self) -> Mapping[str, Any]:
        """Return no settings: there are none."""
        return {}

    def attribute(self, problem: Problem) -> Attribution:
        """Weigh the programs."""
        table = problem.linear
        if table is None:
            raise ExplanationError(
                "technique 'linear': expected a model with a linear head, got another; use 'lime'"
            )
        return Attribution(table[problem.targets] * (problem.values - problem.background.means))
