"""Writing what the studies of explanations and of cost found: tables, figures, parts of a document."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from gdlnn.errors import MissingExtraError
from gdlnn.evaluation.cells import Store
from gdlnn.evaluation.cost import cost_report, costs_csv, costs_of
from gdlnn.evaluation.curves import curves_of
from gdlnn.evaluation.explain_tables import curves_csv, explain_report
from gdlnn.evaluation.explainers import EXPLAINERS, chosen_configuration
from gdlnn.evaluation.output import provenance, replace_part, write_file
from gdlnn.evaluation.panels import draw_costs, draw_curves

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gdlnn.evaluation.explain_cells import ExplainStore

logger = logging.getLogger(__name__)


def write_explain(store: ExplainStore, document: Path | None = None) -> str:
    """Write ``explain.md``, ``.csv`` and ``.svg`` of the cells there are; return the tables."""
    cells = list(store.cells("explain"))
    curves = curves_of(cells)
    text = explain_report(curves) + "\n" + provenance(cells)
    _write(store, "explain", text, curves_csv(curves), lambda: draw_curves(curves), document)
    return text


def write_cost(store: ExplainStore, programs: Path | None = None, document: Path | None = None) -> str:
    """Write ``cost.md``, ``.csv`` and ``.svg`` of the cells there are; return the tables.

    Parameters
    ----------
    store
        The folder of the study.
    programs
        The folder of the accuracy study that chose configurations, where it is another one.
    document
        A Markdown file to put the tables into.
    """
    cells, networks = list(store.cells("cost")), list(store.cells("network"))
    studies = [Store(programs or store.folder)]
    tuning = {}
    for cell in cells:
        method = EXPLAINERS[cell["method"]].method
        _, seconds = chosen_configuration(studies, cell["dataset"], method, cell.get("fingerprint", ""))
        tuning[cell["dataset"], method.name] = seconds
    costs = costs_of(cells, networks, tuning)
    text = cost_report(costs) + "\n" + provenance(cells)
    _write(store, "cost", text, costs_csv(costs), lambda: draw_costs(costs), document)
    return text


def _write(
    store: ExplainStore,
    name: str,
    text: str,
    rows: str,
    draw: Callable[[], bytes],
    document: Path | None,
) -> None:
    write_file(store.folder / f"{name}.md", text)
    write_file(store.folder / f"{name}.csv", rows)
    try:
        picture = draw().decode()
    except MissingExtraError as error:
        logger.warning("%s", error)
        picture = ""
    if picture:
        write_file(store.folder / f"{name}.svg", picture)
    if document is not None:
        shown = text
        if picture:
            # Beside the document, so that its pages show it wherever the results lie.
            file = document.parent / "pictures" / f"study-{name}.svg"
            write_file(file, picture)
            shown = f"![{name}](pictures/{file.name})\n\n{text}"
        replace_part(document, name, shown)
