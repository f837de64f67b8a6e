"""Contributions beside an average graph: integrated gradients through captum, exact for a linear head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import ExplanationError
from gdlnn.explain.attribution import Attribution

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gdlnn.explain.context import Context

_BATCH_ROWS = 20_000  # rows of one pass through the head: graphs × steps


class IntegratedGradients:
    """Integrated gradients of the target's probability over the programs.

    The path leads from the mean representation of the training graphs to the graph's own, so that the
    weights add up to its probability less that of the mean.

    Parameters
    ----------
    n_steps
        Points on the path (Gauss–Legendre).
    """

    name = "integrated_gradients"

    def __init__(self, n_steps: int = 50) -> None:
        if n_steps < 1:
            raise ExplanationError(f"integrated_gradients: n_steps: expected at least 1, got {n_steps}")
        self.n_steps = n_steps

    def options(self) -> Mapping[str, Any]:
        """Return the settings."""
        return {"n_steps": self.n_steps}

    def attribute(self, context: Context) -> Attribution:
        """Weigh the programs."""
        if context.network is None:
            raise ExplanationError(
                "technique 'integrated_gradients': expected a head with gradients, got another; use 'lime'"
            )
        if not context.values.size:
            return Attribution(np.zeros_like(context.values))
        if context.shared:
            return Attribution(self._rows(context, np.arange(len(context.values))))
        parts = [self._rows(context, np.array([i])) for i in range(len(context.values))]
        return Attribution(np.concatenate(parts))

    def _rows(self, context: Context, rows: Any) -> Any:
        import torch
        from captum.attr import IntegratedGradients as Captum

        assert context.network is not None
        network = context.network(int(rows[0]))
        explained = Captum(lambda x: network(x).exp(), multiply_by_inputs=True)
        weights = explained.attribute(
            torch.from_numpy(context.values[rows].astype(np.float32)),
            baselines=torch.from_numpy(context.background.means[None].astype(np.float32)),
            target=torch.from_numpy(context.targets[rows]),
            n_steps=self.n_steps,
            internal_batch_size=_BATCH_ROWS,
        )
        return weights.detach().cpu().numpy().astype(np.float64)


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

    def attribute(self, context: Context) -> Attribution:
        """Weigh the programs."""
        table = context.linear
        if table is None:
            raise ExplanationError(
                "technique 'linear': expected a model with a linear head, got another; use 'lime'"
            )
        return Attribution(table[context.targets] * (context.values - context.background.means))
