"""The report of a regressor: scores, measured against predicted values, contributions and molecules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from gdlnn.drawing.charts import scatter_chart
from gdlnn.drawing.pages import render
from gdlnn.explain.pictures import shown_graph
from gdlnn.model.program_effects import group_contributions
from gdlnn.model.scores import VALUE_NAMES, value_report
from gdlnn.report.cards import diagram
from gdlnn.report.performance import by_domain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.explain import Explanation
    from gdlnn.model import GDLNNRegressor
    from gdlnn.model.representation import ValueRepresentation

FORMAT = "gdlnn-value-report"
MOST_CONTRIBUTIONS = 20
"""How many of the strongest contributions are listed."""
MOST_SHOWN = 100
"""How many graphs are shown with what raises and lowers their value."""


def value_report_parts(
    model: GDLNNRegressor,
    truth: npt.NDArray[np.float64],
    table: ValueRepresentation,
    explained: Sequence[Explanation],
) -> dict[str, Any]:
    """Return what a report shows of a regressor alone: scores, contributions, and explained graphs."""

    def scored(values: npt.NDArray[np.float64], some: ValueRepresentation) -> dict[str, Any]:
        return value_report(values, some.labels, model.training_.labels, some.intervals)

    domains = by_domain(truth, table, lambda values, some: scored(values, some)["model"])
    directed, schema = model.programs_.info.directed, model.schema_
    rows = group_contributions(model, None if model.head == "scorecard" else MOST_CONTRIBUTIONS)
    return {
        "format": FORMAT,
        "target": str(table.classes[0]),
        "unit": model.unit,
        "performance": {"n": len(truth), **scored(truth, table), "domains": domains},
        "points": np.column_stack([truth, table.labels, table.intervals]).tolist(),
        "contributions": [
            {
                **row._asdict(),
                "diagram": diagram(
                    model.programs_[row.column].program, schema, directed, model.programs_[row.column].example
                ),
            }
            for row in rows
        ],
        "graphs": [
            {**shown_graph(one), "measured": value}
            for one, value in zip(explained, truth.tolist(), strict=False)
        ],
    }


def render_value_report(report: dict[str, Any]) -> str:
    """Return the page of a report: one file, nothing fetched."""
    measured, predicted, lower, upper = np.array(report["points"]).T
    bars = np.column_stack([lower, upper]).tolist()
    unit = f" ({report['unit']})" if report["unit"] else ""
    residuals = np.column_stack([predicted, measured - predicted]).tolist()
    return render(
        "gdlnn.report/values.html",
        whole=True,
        classes=[],
        report=report,
        title=f"{report['title']} · GDLNN report",
        graphs=report["graphs"],
        names=VALUE_NAMES,
        noun="molecules" if report["molecules"] else "graphs",
        charts=[
            Markup(
                scatter_chart(
                    np.column_stack([measured, predicted]).tolist(), f"measured{unit}", "predicted", bars=bars
                )
            ),
            Markup(scatter_chart(residuals, f"predicted{unit}", "measured − predicted", level=0.0)),
        ],
        markup=Markup,
    )
