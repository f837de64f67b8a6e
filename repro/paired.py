"""Methods on the same splits: their mean scores, and the first one's paired differences to the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from repro.cells import by_dataset
from repro.statistics import t_interval
from repro.tables import frame_markdown, page, write_results

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from repro.cells import Result


def write_paired(
    out: Path,
    name: str,
    cells: Sequence[Result],
    scores: Sequence[str],
    note: Callable[[Sequence[Result]], str] = lambda _: "",
) -> str:
    """Write ``NAME.md`` and ``NAME.csv`` of cells whose ``scores`` are by method; return the tables.

    `note` returns what else there is to say about the cells of a dataset.
    """
    sections, frames = {}, [pd.DataFrame()]
    for dataset, several in by_dataset(cells).items():
        table = paired_table(scores, [cell["scores"] for cell in several])
        sections[f"{dataset}, {len(several)} splits"] = [frame_markdown(table), note(several)]
        frames.append(table.assign(dataset=dataset))
    return write_results(out, name, cells, page(sections), pd.concat(frames))


def paired_table(names: Sequence[str], splits: Sequence[Mapping[str, Sequence[float]]]) -> pd.DataFrame:
    """Return a row for each method, and one for each difference of the first to another with its interval.

    `names` are those of the scores; `splits` has for each split the scores of each method.
    """
    first, *others = splits[0]
    of = {title: pd.DataFrame([split[title] for split in splits], columns=names) for title in splits[0]}
    rows = {title: values.mean().map("{:.3f}".format) for title, values in of.items()}
    rows |= {f"{first} less {other}": (of[first] - of[other]).apply(_with_interval) for other in others}
    return pd.DataFrame(rows).T.rename_axis("").reset_index()


def _with_interval(gaps: pd.Series) -> str:
    half = t_interval(gaps.tolist())
    return f"{gaps.mean():+.3f}" + ("" if half is None else f" ± {half:.3f}")
