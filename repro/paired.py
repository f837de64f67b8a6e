"""Methods on the same splits: their mean scores, and paired differences with 95 % intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repro.statistics import t_interval
from repro.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DATASETS = "MUTAG,Mutagenicity,PTC_MR,NCI1,BBBP,BACE,PROTEINS,ENZYMES,BA-2Motifs"
"""The nine datasets of the paper."""


def paired_table(
    names: Sequence[str],
    splits: Sequence[Mapping[str, Sequence[float]]],
    pairs: Iterable[tuple[str, str]],
) -> str:
    """Return a table in Markdown.

    Parameters
    ----------
    names
        The names of the scores.
    splits
        For each split the scores of each method.
    pairs
        Two methods each, of which the first less the second is shown.
    """
    rows = []
    for title in splits[0]:
        means = np.mean([split[title] for split in splits], axis=0)
        rows.append([title, *(f"{mean:.3f}" for mean in means)])
    for first, second in pairs:
        gaps = np.array([np.subtract(split[first], split[second]) for split in splits])
        rows.append([f"{first} less {second}", *(_with_interval(column.tolist()) for column in gaps.T)])
    return markdown(["", *names], rows)


def _with_interval(values: Sequence[float]) -> str:
    half = t_interval(values)
    return f"{np.mean(values):+.3f}" + ("" if half is None else f" ± {half:.3f}")
