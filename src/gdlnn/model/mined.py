"""Mining for a model: one run for each ε, with a checkpoint of its own."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdlnn.errors import ModelError
from gdlnn.mining import ProgramSet, mine
from gdlnn.mining.settings import resolved_epsilon

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from gdlnn.graphs import GraphDataset

Epsilon = float | str
Epsilons = Epsilon | Sequence[Epsilon]
MINING_PARAMETERS = (
    *("strategy", "connected", "targets", "min_support", "min_lift", "ignore", "restarts"),
    *("step_budget", "seed", "n_jobs", "progress"),
)
"""What estimators pass on to `mine` under the same names."""
AUTO_EPSILONS: tuple[Epsilon, ...] = (0.1, 1, "1%")
"""What ``epsilon="auto"`` stands for: programs from the most exact to the most general."""
MANY_GRAPHS = 2000
"""With more training graphs "auto" leaves out the last ε, which then takes longer than the others."""
logger = logging.getLogger(__name__)


def listed_epsilons(epsilon: Epsilons, n_graphs: int) -> list[Epsilon]:
    """Return the ε to mine with; of those that come to the same number the first is kept."""
    if isinstance(epsilon, str) and epsilon == "auto":
        epsilon = AUTO_EPSILONS if n_graphs <= MANY_GRAPHS else AUTO_EPSILONS[:-1]
    given: list[Epsilon] = [epsilon] if isinstance(epsilon, str | float | int) else list(epsilon)
    if not given:
        raise ModelError("epsilon: expected a number, a percentage or several of them, got none")
    distinct: dict[float, Epsilon] = {}
    for value in given:
        distinct.setdefault(resolved_epsilon(value, n_graphs), value)
    return list(distinct.values())


def mine_each(
    train: GraphDataset,
    epsilon: Epsilons,
    options: Mapping[str, Any],
    checkpoint: str | os.PathLike[str] | None = None,
) -> list[ProgramSet]:
    """Mine once for each ε; with a checkpoint folder, each run goes on from its own file there."""
    if checkpoint is not None:
        Path(checkpoint).mkdir(parents=True, exist_ok=True)
    sets = []
    for value in listed_epsilons(epsilon, len(train)):
        file = None if checkpoint is None else Path(checkpoint) / checkpoint_name(value)
        programs = mine(train, epsilon=value, checkpoint=file, **options)
        logger.info("ε = %s: %d programs from %d graphs", value, len(programs), len(train))
        sets.append(programs)
        if programs.stopped_by == "interrupt":
            raise KeyboardInterrupt
    return sets


def checkpoint_name(epsilon: Epsilon) -> str:
    """Return the name of the checkpoint file of one ε."""
    return f"epsilon-{str(epsilon).strip().replace('%', '-percent')}.jsonl"
