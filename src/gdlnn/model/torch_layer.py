"""GDLLayer: the GDL layer as a torch module, for networks of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from gdlnn.mining.settings import FINAL_BUDGET
from gdlnn.model.layer import GDLTransformer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.gdl import Program
    from gdlnn.mining import ProgramSet
    from gdlnn.model.inputs import GraphsLike
    from gdlnn.model.layer import Activation


class GDLLayer(nn.Module):
    """Graphs in, a tensor out: one row per graph, one column per program. It has nothing to learn.

    Parameters
    ----------
    programs
        A ProgramSet, or a list of programs.
    activation, log_counts, n_jobs, step_budget
        As for `GDLTransformer`.
    """

    where: torch.Tensor

    def __init__(
        self,
        programs: ProgramSet | Sequence[Program],
        activation: Activation = "exists",
        log_counts: bool = False,
        n_jobs: int | None = 1,
        step_budget: int | None = FINAL_BUDGET,
    ) -> None:
        super().__init__()
        self.transformer = GDLTransformer(
            programs, activation, log_counts, n_jobs=n_jobs, step_budget=step_budget
        ).fit([])
        # A buffer that moves with the module says on which device and in which type the result is wanted.
        self.register_buffer("where", torch.zeros(0), persistent=False)

    @property
    def out_features(self) -> int:
        """Number of columns."""
        return self.transformer.n_programs_

    def forward(self, graphs: GraphsLike) -> torch.Tensor:
        """Return what the programs find in the graphs."""
        return torch.from_numpy(self.transformer.transform(graphs)).to(self.where)
