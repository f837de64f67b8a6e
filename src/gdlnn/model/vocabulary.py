"""Vocabulary: the sources of a model's programs, and how they are merged into columns.

`Neighborhoods` takes the surroundings of nodes, `Mined` searches with the labels.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack

from gdlnn.errors import ModelError
from gdlnn.graphs.molecules import hidden_by_default
from gdlnn.mining import ProgramSet, mine, neighborhoods
from gdlnn.mining.neighborhood_programs import LEVELS, least_support
from gdlnn.mining.program_set import MinedProgram, smallest_of_equals, support_keys, support_matrix
from gdlnn.mining.settings import STEP_BUDGET
from gdlnn.model.base import BaseEstimator
from gdlnn.model.quantities import Quantities
from gdlnn.progress import stage

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from gdlnn.graphs import GraphDataset
    from gdlnn.mining.settings import Nominal, Strategy, Targets

SEARCH_PARAMETERS = (
    *("epsilon", "strategy", "connected", "targets", "min_support", "ignore", "nominal", "step_budget"),
)
"""The parameters that a source passes on to `mine`."""
LABEL_EPSILON = 1.0
"""ε of the scores of programs that were found without labels."""
MOST_COLUMNS = 10_000
"""Maximum number of neighborhoods that become columns."""
logger = logging.getLogger(__name__)


class RunOptions(NamedTuple):
    """How a source runs; only the random_state affects the result."""

    random_state: int = 0
    n_jobs: int | None = 1
    verbose: bool = True
    checkpoint: str | os.PathLike[str] | None = None
    ignore: tuple[str, ...] = ()


@dataclass(eq=False, repr=False)
class Mined(BaseEstimator):
    """Programs found by mining the training graphs, see `mine`.

    Parameters
    ----------
    epsilon
        ε of the score, or a percentage of the training graphs such as ``"1%"``. A larger ε favors programs
        with more support.
    k
        How many programs to keep: a number, a fraction of the training graphs, or None for all.
    per_label
        Keep the k best of every label instead of the k best overall.
    merge_equal
        Keep only one program per set of matched training graphs.
    ignore
        Features that programs do not use. "auto": for molecules with the features of the Open Graph Benchmark
        those that depend on how a molecule is written, or that SMARTS cannot express; else none.
    strategy, connected, targets, min_support, nominal, step_budget
        Passed on to `mine`.
    """

    epsilon: float | str = 1.0
    k: float | None = None
    per_label: bool = False
    merge_equal: bool = False
    strategy: Strategy = "greedy"
    connected: bool = True
    targets: Targets = None
    min_support: int = 1
    ignore: Sequence[str] | Literal["auto"] = "auto"
    nominal: Nominal = "value"
    step_budget: int = STEP_BUDGET

    def find(self, train: GraphDataset, run: RunOptions) -> ProgramSet:
        """Return the programs that become columns."""
        return self.columns(self.search(train, run))

    def search(self, train: GraphDataset, run: RunOptions) -> ProgramSet:
        """Mine the training graphs; with a checkpoint folder, the search resumes from its file there."""
        options = {name: getattr(self, name) for name in SEARCH_PARAMETERS}
        options["ignore"] = (*ignored_features(self.ignore, train), *run.ignore)
        file = None
        if run.checkpoint is not None:
            file = Path(run.checkpoint, f"epsilon-{str(self.epsilon).strip().replace('%', '-percent')}.jsonl")
            file.parent.mkdir(parents=True, exist_ok=True)
        with stage(f"mining, ε = {self.epsilon}"):
            programs = mine(
                train,
                checkpoint=file,
                random_state=run.random_state,
                n_jobs=run.n_jobs,
                verbose=run.verbose,
                **options,
            )
        logger.info("ε = %s: %d programs from %d graphs", self.epsilon, len(programs), len(train))
        if programs.stopped_by == "interrupt":
            raise KeyboardInterrupt
        return programs

    def columns(self, programs: ProgramSet) -> ProgramSet:
        """Return the k best programs, one for each canonical form.

        A program that was mined for several labels keeps the label of the higher score.
        """
        columns = _merged(programs, programs.programs, lambda item: (not item.complete, -item.score))
        if self.merge_equal:
            keys = support_keys(columns.supports)
            columns = _merged(
                columns, keys, lambda item: (-item.score, len(item.program.nodes), len(item.program.edges))
            )
        return columns if self.k is None else columns.top(self.k, per_label=self.per_label)


@dataclass(eq=False, repr=False)
class Neighborhoods(BaseEstimator):
    """The surroundings of the nodes of the training graphs as programs, see `neighborhoods`.

    Parameters
    ----------
    radius, levels, min_support, ignore
        Passed on to `neighborhoods`.
    max_programs
        Maximum number of programs; those that match most graphs are kept.
    """

    radius: int = 3
    levels: Sequence[str] = LEVELS
    min_support: int | Literal["auto"] = "auto"
    ignore: Sequence[str] | Literal["auto"] = "auto"
    max_programs: int | None = MOST_COLUMNS

    def find(self, train: GraphDataset, run: RunOptions) -> ProgramSet:
        """Find the neighborhoods; structure features have already been added if requested."""
        ignore = (*ignored_features(self.ignore, train), *run.ignore)
        options = {**self.get_params(deep=False), "ignore": ignore}
        with stage("finding neighborhoods"):
            found = neighborhoods(train, structure=False, n_jobs=run.n_jobs, **options)
            found = with_thresholds(found, train, ignore)
            return found if train.y is None else labeled(found, train)


def ignored_features(ignore: Sequence[str] | Literal["auto"], train: GraphDataset) -> Sequence[str]:
    """Return the features to leave out; "auto": those of molecules that depend on how they are written."""
    return hidden_by_default(train.schema) if isinstance(ignore, str) else ignore


def with_thresholds(programs: ProgramSet, train: GraphDataset, ignore: Sequence[str]) -> ProgramSet:
    """Append programs such as "an edge with channel = wire and amount ≥ 900", at quantiles of the quantities.

    Neighborhoods leave quantities open, since their exact values never repeat.
    """
    quantities = Quantities.of(train, ignore)
    if not len(quantities):
        return programs
    table, info = quantities.transform(train.graphs), programs.info
    least = least_support("auto", len(train))
    items, rows = [], []
    for column, threshold in quantities.thresholds(table):
        matched = np.flatnonzero(table[:, column] > threshold)
        if least <= len(matched) < len(train):
            one = quantities.columns[column]
            width = info.n_node_features if one.of == "node" else info.n_edge_features
            program = one.program(threshold, width, directed=info.directed)
            items.append(MinedProgram(program, None, 0.0, len(matched)))
            rows.append(matched)
    supports = hstack([programs.supports, support_matrix(rows, len(train))], format="csc")
    joined = ProgramSet([*programs, *items], supports, info)
    return joined.take(smallest_of_equals(joined.programs, joined.supports))


def labeled(programs: ProgramSet, train: GraphDataset) -> ProgramSet:
    """Give programs that were found without labels the label that is most over-represented where they match.

    The label is for readers only and does not influence the model.
    """
    classes, codes = np.unique(np.asarray(train.y), return_inverse=True)
    by_class = csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))))
    matched = (by_class @ programs.supports).toarray()  # classes × programs
    best = np.argmax(matched / np.bincount(codes)[:, None], axis=0).tolist()
    items = []
    for column, item in enumerate(programs):
        score = float(matched[best[column], column] / (item.n_matched + LABEL_EPSILON))
        items.append(replace(item, label=classes[best[column]].item(), score=score))
    return ProgramSet(items, programs.supports, programs.info)


Source = Mined | Neighborhoods
Vocabulary = Literal["auto", "mined", "neighborhoods"] | Source | Sequence[Source]


def make_sources(vocabulary: Any) -> list[Source]:
    """Return the sources of a name, or the given ones; "auto" is neighborhoods."""
    if isinstance(vocabulary, str):
        if vocabulary == "mined":
            return [Mined()]
        if vocabulary in ("auto", "neighborhoods"):
            return [Neighborhoods()]
    listed = [vocabulary] if isinstance(vocabulary, Source) else vocabulary
    if isinstance(listed, list | tuple) and listed and all(isinstance(one, Source) for one in listed):
        return list(listed)
    expected = "auto, mined, neighborhoods, Mined(...), Neighborhoods(...) or several of these"
    raise ModelError(f"vocabulary: expected {expected}, got {vocabulary!r}")


def union(sets: Sequence[ProgramSet]) -> ProgramSet:
    """Return the programs of several sources, of those that match the same training graphs the smallest."""
    if not sets:
        raise ModelError("programs: expected at least one set of programs, got none")
    if len(sets) == 1:
        return sets[0]
    for what in ("n_graphs", "label_counts", "directed", "n_node_features", "n_edge_features", "fingerprint"):
        for programs in sets:
            expected, got = getattr(sets[0].info, what), getattr(programs.info, what)
            if expected != got:
                raise ModelError(
                    f"programs: expected sets that were mined from the same graphs, but their {what} differ: "
                    f"{expected} and {got}"
                )
    settings = {"sources": [programs.info.settings for programs in sets]}
    info = replace(sets[0].info, settings=settings, complete=all(programs.complete for programs in sets))
    items = [item for programs in sets for item in programs]
    supports = hstack([programs.supports for programs in sets], format="csc")
    stopped_by = next((programs.stopped_by for programs in sets if programs.stopped_by), None)
    joined = ProgramSet(items, supports, info, stopped_by)
    return joined.take(smallest_of_equals(joined.programs, joined.supports))


def _merged(programs: ProgramSet, keys: Iterable[Any], rank: Callable[[MinedProgram], Any]) -> ProgramSet:
    """Keep the program of the lowest rank per key, in the place of the first."""
    groups: dict[Any, list[int]] = {}
    for column, key in enumerate(keys):
        groups.setdefault(key, []).append(column)
    chosen = [min(group, key=lambda column: rank(programs[column])) for group in groups.values()]
    return programs.take(chosen)
