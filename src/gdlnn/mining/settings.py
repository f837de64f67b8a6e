"""Settings: the parameters of a mining call, checked once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from gdlnn.errors import MiningError
from gdlnn.graphs import GraphDataset

Strategy = Literal["greedy", "sequential"]
Nominal = Literal["value", "interval"]
Targets = Sequence[int] | npt.NDArray[np.int64] | Literal["auto"] | None
MOST_TARGETS = 2000
"""Most graphs that ``targets="auto"`` starts from."""

STEP_BUDGET = 20_000
"""Maximum steps of one search while mining."""
FINAL_BUDGET = 2_000_000
"""Maximum steps of one search when the support of a mined program is recounted."""


@dataclass(frozen=True)
class Settings:
    """The settings that determine the result of mining: everything except threads, clocks and files.

    ``epsilon`` is the number, whatever it was given as; ``final_budget`` is the budget of the recount.
    """

    epsilon: float
    strategy: Strategy = "greedy"
    connected: bool = True
    step_budget: int = STEP_BUDGET
    final_budget: int = FINAL_BUDGET
    seed: int = 0
    nominal: Nominal = "value"

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain JSON values; ``nominal`` is left out if it is that of the paper."""
        values = asdict(self)
        if self.nominal == "interval":
            del values["nominal"]
        return values


def checked_settings(
    n_graphs: int,
    *,
    epsilon: float | str,
    strategy: Strategy,
    connected: bool,
    nominal: Nominal,
    step_budget: int,
    seed: int,
) -> Settings:
    """Check the parameters of a call; an error names the parameter, what was expected and what was given."""
    if strategy not in get_args(Strategy):
        raise wrong("strategy", f"one of {', '.join(get_args(Strategy))}", strategy)
    if nominal not in get_args(Nominal):
        raise wrong("nominal", f"one of {', '.join(get_args(Nominal))}", nominal)
    return Settings(
        epsilon=resolved_epsilon(epsilon, n_graphs),
        strategy=strategy,
        connected=bool(connected),
        step_budget=whole("step_budget", step_budget, 1),
        seed=whole("seed", seed, 0),
        nominal=nominal,
    )


def resolved_epsilon(epsilon: float | str, n_graphs: int) -> float:
    """Return ε as a number; ``"1%"`` means 0.01 times the number of training graphs."""
    expected = 'a positive number, or a percentage of the training graphs such as "1%"'
    try:
        if isinstance(epsilon, str) and epsilon.strip().endswith("%"):
            value = float(epsilon.strip()[:-1]) / 100 * n_graphs
        else:
            value = float(epsilon)
    except (TypeError, ValueError):
        raise wrong("epsilon", expected, epsilon) from None
    if isinstance(epsilon, bool) or not (math.isfinite(value) and value > 0):
        raise wrong("epsilon", expected, epsilon)
    return value


def whole(name: str, value: Any, least: int) -> int:
    """Check a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least or value >= 2**63:
        raise wrong(name, f"a whole number of at least {least}", value)
    return int(value)


def non_negative(name: str, value: Any) -> float:
    """Check a finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise wrong(name, "a number of at least 0", value)
    if not (math.isfinite(value) and value >= 0):
        raise wrong(name, "a number of at least 0", value)
    return float(value)


def checked_jobs(n_jobs: Any) -> int | None:
    """Check a number of threads: None, positive, or negative as for scikit-learn."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise wrong("n_jobs", "a positive number, or -1 for all CPU cores", n_jobs)
    return int(n_jobs)


def checked_labels(dataset: GraphDataset) -> tuple[list[Any], npt.NDArray[np.int32]]:
    """Return the distinct labels as plain values, in order, and the number of each graph's label."""
    if not isinstance(dataset, GraphDataset):
        raise wrong("dataset", "a GraphDataset", dataset)
    if not len(dataset):
        raise MiningError("mine: dataset: expected at least one graph, got none")
    if dataset.y is None:
        raise MiningError("mine: dataset: the dataset has no labels (y)")
    if dataset.y.dtype.kind == "f" and np.isnan(dataset.y).any():
        row = int(np.flatnonzero(np.isnan(dataset.y))[0])
        raise MiningError(f"mine: dataset: graph {row}: expected a label, got nan")
    try:
        labels, codes = np.unique(dataset.y, return_inverse=True)
    except TypeError as error:
        raise MiningError(f"mine: dataset: expected labels of one type, got {error}") from None
    plain = labels.tolist()
    for label in plain:
        if not isinstance(label, str | int | float):
            raise wrong("dataset", "labels that are numbers or strings", label)
    return plain, codes.astype(np.int32)


def wrong(name: str, expected: str, got: object) -> MiningError:
    """Return the error for a parameter of `mine`."""
    shown = repr(got)
    return MiningError(
        f"mine: {name}: expected {expected}, got {shown if len(shown) < 80 else shown[:80] + '…'}"
    )
