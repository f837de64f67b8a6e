"""From what a report says to one HTML file: template, styles, script and data put together."""

from __future__ import annotations

import json
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from gdlnn.drawing import write_text
from gdlnn.report.build import ReportOptions, build_report, silent
from gdlnn.report.sections import (
    about_section,
    data_section,
    global_section,
    headline,
    performance_section,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNClassifier


def render_report(report: dict[str, Any]) -> str:
    """Return the page of a report: one file, nothing fetched."""
    folder = resources.files("gdlnn.report") / "page"

    def read(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    return Template(read("page.html")).substitute(
        title=escape(report["title"]),
        made_by=escape(report["made_by"]),
        subtitle=escape(_subtitle(report)),
        style=read("page.css"),
        headline=headline(report),
        data=data_section(report),
        performance=performance_section(report),
        overall=global_section(report),
        about=about_section(report),
        json=embedded_json(report),
        script=read("draw.js") + read("card.js") + read("page.js"),
    )


def embedded_json(report: dict[str, Any]) -> str:
    """Return the JSON as it may stand inside a page: no text in it can end the element or open another."""
    text = json.dumps(report, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _subtitle(report: dict[str, Any]) -> str:
    held, training = report["data"]["held_out"], report["data"]["training"]
    return (
        f"A classifier of {report['model']['n_programs']} readable programs, mined from {training['graphs']} "
        f"graphs and tried on {held['graphs']} that it had not seen."
    )


def write_report(
    model: GDLNNClassifier,
    held_out: GraphDataset,
    path: str | os.PathLike[str],
    options: ReportOptions | None = None,
    *,
    title: str = "",
    say: Callable[[str], None] = silent,
) -> dict[str, Any]:
    """Write the report of a model on held-out graphs into one HTML file; return what it says.

    Parameters are those of `build_report`; the file appears when it is complete, folders are made.
    """
    report = build_report(model, held_out, options, title=title, say=say)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, render_report(report))
    return report
