"""Integrated gradients through captum: from an average graph to the explained one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import ExplanationError
from gdlnn.explain.techniques.base import Attribution, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

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

    def attribute(self, problem: Problem) -> Attribution:
        """Weigh the programs."""
        if problem.network is None:
            raise ExplanationError(
                "technique 'integrated_gradients': expected a head with gradients, got another; use 'lime'"
            )
        if not problem.values.size:
            return Attribution(np.zeros_like(problem.values))
        if problem.shared:
            return Attribution(self._rows(problem, np.arange(len(problem.values))))
        parts = [self._rows(problem, np.array([i])) for i in range(len(problem.values))]
        return Attribution(np.concatenate(parts))

    def _rows(self, problem: Problem, rows: Any) -> Any:
        import torch
        from captum.attr import IntegratedGradients as Captum

        assert problem.network is not None
        network = problem.network(int(rows[0]))
        explained = Captum(lambda x: network(x).exp(), multiply_by_inputs=True)
        weights = explained.attribute(
            torch.from_numpy(problem.values[rows].astype(np.float32)),
            baselines=torch.from_numpy(problem.background.means[None].astype(np.float32)),
            target=torch.from_numpy(problem.targets[rows]),
            n_steps=self.n_steps,
            internal_batch_size=_BATCH_ROWS,
        )
        return weights.detach().cpu().numpy().astype(np.float64)
