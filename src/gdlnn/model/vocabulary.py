"""Vocabulary: the sources of a model's programs, and how they are merged into columns.

A source is an object with `find`, from training graphs to sets of programs, and `columns`, from these sets to
one. `Neighbourhoods` takes the surroundings of nodes, `Mined` searches with the labels.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from gdlnn.errors import ModelError
from gdlnn.graphs.molecules import hidden_by_default
from gdlnn.mining import MinedProgram, ProgramSet, mine, neighbourhoods
from gdlnn.mining.bags import bag_rows, n_bags
from gdlnn.mining.neighbourhood_programs import smallest_of_equals
from gdlnn.mining.settings import STEP_BUDGET, resolved_epsilon
from gdlnn.model.base import BaseEstimator
from gdlnn.progress import stage

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from gdlnn.gdl import Program
    from gdlnn.graphs import GraphDataset
    from gdlnn.mining.bags import Bags, IntArray
    from gdlnn.mining.settings import Nominal, Strategy, Targets

Epsilon = float | str
Epsilons = Epsilon | Sequence[Epsilon]
SEARCH_PARAMETERS = (
    *("strategy", "connected", "targets", "min_support", "ignore", "nominal", "bags", "step_budget"),
)
"""The parameters that a source passes on to `mine`."""
AUTO_EPSILONS: tuple[Epsilon, ...] = (0.1, 1, "1%")
"""The values of ``epsilon="auto"``: for programs from the most exact to the most general."""
GENERAL_EPSILONS: tuple[Epsilon, ...] = (0.1, 1, "1%", "5%")
"""The values of ε for mining in addition to neighbourhoods; larger ones give general programs."""
FEW_GRAPHS = 1000
"""Below this number of training graphs, the default includes mined programs, which help there."""
FOLDS = 4
"""Number of folds for calibrating a model without a validation set."""
LABEL_EPSILON = 1.0
"""ε of the scores of programs that were found without labels."""
MOST_COLUMNS = 10_000
"""Maximum number of neighbourhoods that become columns."""
MANY_GRAPHS = 2000
"""With more training graphs, "auto" omits the last ε, which then takes longer than the others."""
logger = logging.getLogger(__name__)


class RunOptions(NamedTuple):
    """How a source runs; only the seed affects the result."""

    seed: int = 0
    n_jobs: int | None = 1
    progress: bool = True
    checkpoint: str | os.PathLike[str] | None = None


@dataclass(eq=False, repr=False)
class Mined(BaseEstimator):
    """Programs found by mining the training graphs, see `mine`.

    Parameters
    ----------
    epsilon
        ε of the score, or a percentage of the training graphs such as ``"1%"``, or several, whose programs
        are combined. A larger ε favours programs with more support. "auto": 0.1, 1 and 1 %, without the last
        beyond 2,000 training graphs.
    k
        How many programs to keep: a number, a fraction of the training graphs, or None for all.
    per_label
        Keep the k best of every label instead of the k best overall.
    merge_equal
        Keep only one program per set of matched training graphs.
    ignore
        Features that programs do not use. "auto": for molecules with the features of the Open Graph Benchmark
        those that depend on how a molecule is written, or that SMARTS cannot express; else none.
    strategy, connected, targets, min_support, nominal, bags, step_budget
        Passed on to `mine`.
    """

    epsilon: Epsilons = "auto"
    k: float | None = None
    per_label: bool = False
    merge_equal: bool = False
    strategy: Strategy = "greedy"
    connected: bool = True
    targets: Targets = None
    min_support: int = 1
    ignore: Sequence[str] | Literal["auto"] = "auto"
    nominal: Nominal = "value"
    bags: Bags = None
    step_budget: int = STEP_BUDGET

    def find(self, train: GraphDataset, run: RunOptions) -> list[ProgramSet]:
        """Mine once for each ε."""
        options = {name: getattr(self, name) for name in SEARCH_PARAMETERS}
        options["ignore"] = self._ignored(train)
        return mine_epsilons(train, self.epsilon, options, run)

    def _ignored(self, train: GraphDataset) -> Sequence[str]:
        auto = isinstance(self.ignore, str) and self.ignore == "auto"
        return hidden_by_default(train.schema) if auto else self.ignore

    def columns(self, sets: Sequence[ProgramSet]) -> ProgramSet:
        """Return the programs that become columns: the k best of the union of the sets."""
        merged = merged_columns(sets, merge_equal=self.merge_equal)
        return merged if self.k is None else merged.top(self.k, per_label=self.per_label)


@dataclass(eq=False, repr=False)
class Neighbourhoods(BaseEstimator):
    """The surroundings of the nodes of the training graphs as programs, see `neighbourhoods`.

    Parameters
    ----------
    radius, min_support, ignore
        Passed on to `neighbourhoods`.
    max_programs
        Maximum number of programs; those that match most graphs are kept.
    """

    radius: int = 3
    min_support: int | Literal["auto"] = "auto"
    ignore: Sequence[str] | Literal["auto"] = "auto"
    max_programs: int | None = MOST_COLUMNS

    def find(self, train: GraphDataset, run: RunOptions) -> list[ProgramSet]:
        """Find the neighbourhoods; structure features have already been added if requested."""
        options = self.get_params(deep=False)
        with stage("finding neighbourhoods"):
            found = neighbourhoods(train, structure=False, n_jobs=run.n_jobs, **options)
            return [labelled(found, train)]

    def columns(self, sets: Sequence[ProgramSet]) -> ProgramSet:
        """Return the programs that become columns: all of them."""
        return union(sets)


def labelled(programs: ProgramSet, train: GraphDataset) -> ProgramSet:
    """Give programs that were found without labels the label that is most over-represented where they match.

    The label is for readers only and does not influence the model.
    """
    classes, codes = np.unique(np.asarray(train.y), return_inverse=True)
    counts = np.bincount(codes, minlength=len(classes))
    items = []
    for item in programs:
        matched = np.bincount(codes[item.support], minlength=len(classes))
        best = int(np.argmax(matched / counts))
        score = float(matched[best] / (item.n_matched + LABEL_EPSILON))
        items.append(item.replace(label=classes[best].item(), score=score))
    return ProgramSet(items, programs.info, programs.stats)


Source = Mined | Neighbourhoods
Vocabulary = Literal["auto", "mined", "neighbourhoods"] | Source | Sequence[Source]


def make_sources(vocabulary: Any, train: GraphDataset) -> list[Source]:
    """Return the sources of a name, or the given ones.

    "auto" is neighbourhoods, and in addition programs mined in bags if there are fewer than `FEW_GRAPHS`
    training graphs that were not read from SMILES or SDF.
    """
    if isinstance(vocabulary, str):
        if vocabulary == "auto":
            few = len(train) < FEW_GRAPHS and train.reading is None
            return [
                Neighbourhoods(),
                *([Mined(GENERAL_EPSILONS, targets="auto", bags="auto")] if few else []),
            ]
        if vocabulary == "mined":
            return [Mined()]
        if vocabulary == "neighbourhoods":
            return [Neighbourhoods()]
    listed = [vocabulary] if isinstance(vocabulary, Source) else vocabulary
    if isinstance(listed, list | tuple) and listed and all(isinstance(one, Source) for one in listed):
        return list(listed)
    expected = "auto, mined, neighbourhoods, Mined(...), Neighbourhoods(...) or several of these"
    raise ModelError(f"vocabulary: expected {expected}, got {vocabulary!r}")


def calibration_folds(sources: Sequence[Source], train: GraphDataset, seed: int) -> list[IntArray]:
    """Return the rows of four folds; those of graphs that were mined in bags are whole bags."""
    counts = [n_bags(s.bags, len(train)) for s in sources if isinstance(s, Mined) and s.bags is not None]
    parts = bag_rows(train, max([FOLDS, *counts]), seed)
    return [np.concatenate(parts[fold::FOLDS]) for fold in range(FOLDS)]


# --- mining -----------------------------------------------------------------------------------------------


def listed_epsilons(epsilon: Epsilons, n_graphs: int) -> list[Epsilon]:
    """Return the ε to mine with; of those that resolve to the same number the first is kept."""
    if isinstance(epsilon, str) and epsilon == "auto":
        epsilon = AUTO_EPSILONS if n_graphs <= MANY_GRAPHS else AUTO_EPSILONS[:-1]
    given: list[Epsilon] = [epsilon] if isinstance(epsilon, str | float | int) else list(epsilon)
    if not given:
        raise ModelError("epsilon: expected a number, a percentage or several of them, got none")
    distinct: dict[float, Epsilon] = {}
    for value in given:
        distinct.setdefault(resolved_epsilon(value, n_graphs), value)
    return list(distinct.values())


def mine_epsilons(
    train: GraphDataset, epsilon: Epsilons, options: Mapping[str, Any], run: RunOptions
) -> list[ProgramSet]:
    """Mine once for each ε; with a checkpoint folder, each run resumes from its own file there."""
    folder = None if run.checkpoint is None else Path(run.checkpoint)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    sets = []
    for value in listed_epsilons(epsilon, len(train)):
        file = None if folder is None else folder / checkpoint_name(value)
        with stage(f"mining, ε = {value}"):
            programs = mine(
                train,
                epsilon=value,
                checkpoint=file,
                seed=run.seed,
                n_jobs=run.n_jobs,
                progress=run.progress,
                **options,
            )
        logger.info("ε = %s: %d programs from %d graphs", value, len(programs), len(train))
        sets.append(programs)
        if programs.stopped_by == "interrupt":
            raise KeyboardInterrupt
    return sets


def checkpoint_name(epsilon: Epsilon) -> str:
    """Return the name of the checkpoint file of one ε."""
    return f"epsilon-{str(epsilon).strip().replace('%', '-percent')}.jsonl"


# --- columns ----------------------------------------------------------------------------------------------


def union(sets: Sequence[ProgramSet]) -> ProgramSet:
    """Return the programs of several sources, of those that match the same training graphs the smallest."""
    if not sets:
        raise ModelError("programs: expected at least one set of programs, got none")
    if len(sets) == 1:
        return sets[0]
    for programs in sets:
        _check_same_data(sets[0], programs)
    kept = smallest_of_equals(item for programs in sets for item in programs)
    info = replace(
        sets[0].info,
        settings={"sources": [programs.info.settings for programs in sets]},
        complete=all(programs.complete for programs in sets),
    )
    stopped_by = next((programs.stopped_by for programs in sets if programs.stopped_by), None)
    return ProgramSet(kept, info, sets[0].stats, stopped_by)


def merged_columns(sets: Sequence[ProgramSet], *, merge_equal: bool = False) -> ProgramSet:
    """Return the union of sets of programs, one for each canonical form.

    Scores of different ε are not comparable, so all are rescored with the ε of the first set. A program that
    was mined for several labels keeps the label of the higher score; its targets are those of all sources.

    Parameters
    ----------
    sets
        Programs mined from the same graphs.
    merge_equal
        Also keep only one program per set of matched training graphs: the one with the fewest nodes.
    """
    if not sets:
        raise ModelError("programs: expected at least one set of programs, got none")
    epsilon = _epsilon(sets[0])
    groups: dict[Program, list[MinedProgram]] = {}
    for programs in sets:
        _check_same_data(sets[0], programs)
        for item in _rescored(programs, epsilon):
            groups.setdefault(item.program, []).append(item)
    items = [_one_of(group) for group in groups.values()]
    if merge_equal:
        items = _without_equals(items)
    first = sets[0]
    settings = {**first.info.settings}
    if len(sets) > 1:
        settings["epsilons"] = [_epsilon(programs) for programs in sets]
    complete = all(programs.complete for programs in sets)
    info = replace(first.info, settings=settings, complete=complete)
    stopped_by = next((programs.stopped_by for programs in sets if programs.stopped_by), None)
    return ProgramSet(items, info, first.stats, stopped_by)


def _epsilon(programs: ProgramSet) -> float:
    return float(programs.info.settings.get("epsilon", 0.1))


def _check_same_data(first: ProgramSet, other: ProgramSet) -> None:
    for what in ("n_graphs", "label_counts", "directed", "n_node_features", "n_edge_features", "fingerprint"):
        expected, got = getattr(first.info, what), getattr(other.info, what)
        if expected != got:
            raise ModelError(
                f"programs: expected sets that were mined from the same graphs, but their {what} differ: "
                f"{expected} and {got}"
            )


def _rescored(programs: ProgramSet, epsilon: float) -> Iterable[MinedProgram]:
    """Give the programs with the scores they have under another ε."""
    own = _epsilon(programs)
    for item in programs:
        if own == epsilon:
            yield item
        else:
            matched = item.n_matched
            of_label = round(item.score * (matched + own))
            yield item.replace(score=of_label / (matched + epsilon))


def _one_of(group: list[MinedProgram]) -> MinedProgram:
    """Merge the same program from several sources; the first of the best score lends its label."""
    if len(group) == 1:
        return group[0]
    best = max(group, key=lambda item: (item.complete, item.score))  # the first of equals
    targets: np.ndarray[Any, Any] = np.unique(np.concatenate([item.targets for item in group]))
    return best.replace(targets=targets)


def _without_equals(items: Sequence[MinedProgram]) -> list[MinedProgram]:
    """Keep one program per support, in the place of the first of them."""
    groups: dict[bytes, list[MinedProgram]] = {}
    for item in items:
        groups.setdefault(item.support_key, []).append(item)
    kept = []
    for group in groups.values():
        best = min(group, key=lambda item: (-item.score, len(item.program.nodes), len(item.program.edges)))
        targets = np.unique(np.concatenate([item.targets for item in group]))
        kept.append(best if len(group) == 1 else best.replace(targets=targets))
    return kept
