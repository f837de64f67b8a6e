"""From what a report says to one HTML file: template, styles, script and data put together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from gdlnn.drawing import write_text
from gdlnn.drawing.pages import render
from gdlnn.report.build import ReportOptions, build_report, silent
from gdlnn.report.charts import calibration_chart, learning_chart

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNClassifier


def render_report(report: dict[str, Any]) -> str:
    """Return the page of a report: one file, nothing fetched."""
    names = {item["label"]: item["name"] for item in report["classes"]}
    return render(
        "gdlnn.report/page.html",
        title=f"{report['title']} · GDLNN report",
        report=report,
        rows={row["index"]: row for row in report["programs"]},
        class_name=lambda label: names.get(label, str(label)),
        calibration_chart=Markup(calibration_chart(report["performance"]["calibration"])),
        learning_chart=Markup(learning_chart(report["learning_curve"])),
        json=embedded_json(report),
    )


def embedded_json(report: dict[str, Any]) -> Markup:
    """Return the JSON as it may stand inside a page: no text in it can end the element or open another."""
    text = json.dumps(report, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Jinja's `tojson` also escapes apostrophes, of which the diagrams have very many.
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


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
