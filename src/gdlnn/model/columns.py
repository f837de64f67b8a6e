"""Columns: from the programs that mining gave, for one ε or several, to the columns of the GDL layer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import ModelError
from gdlnn.mining import MinedProgram, ProgramSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gdlnn.gdl import Program


def merged_columns(sets: Sequence[ProgramSet], *, merge_equal: bool = False) -> ProgramSet:
    """Return the union of sets of programs, one for each canonical form.

    Scores of several ε do not compare, so all are counted again with the ε of the first set. A program that
    was mined for several labels keeps the label of the higher score; its targets are those of all sources.

    Parameters
    ----------
    sets
        Programs mined from the same graphs.
    merge_equal
        Also leave one of the programs that match the same training graphs: the one with the fewest nodes.
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
            yield replace(item, score=of_label / (matched + epsilon))


def _one_of(group: list[MinedProgram]) -> MinedProgram:
    """Merge the same program from several sources; the first of the best score lends its label."""
    if len(group) == 1:
        return group[0]
    best = max(group, key=lambda item: (item.complete, item.score))  # the first of equals
    targets: np.ndarray[Any, Any] = np.unique(np.concatenate([item.targets for item in group]))
    return replace(best, targets=targets)


def _without_equals(items: Sequence[MinedProgram]) -> list[MinedProgram]:
    """Leave one of the programs with equal support, where the first of them stood."""
    groups: dict[bytes, list[MinedProgram]] = {}
    for item in items:
        groups.setdefault(item.support.tobytes(), []).append(item)
    kept = []
    for group in groups.values():
        best = min(group, key=lambda item: (-item.score, len(item.program.nodes), len(item.program.edges)))
        targets = np.unique(np.concatenate([item.targets for item in group]))
        kept.append(best if len(group) == 1 else replace(best, targets=targets))
    return kept
