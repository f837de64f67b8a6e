"""The report of a regressor: scores, measured against predicted values, contributions and molecules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from gdlnn.drawing.charts import scatter_chart
from gdlnn.drawing.pages import render
from gdlnn.explain import explain
from gdlnn.explain.explainer import with_smiles
from gdlnn.explain.pictures import shown_graph
from gdlnn.model.program_effects import group_contributions
from gdlnn.model.scores import VALUE_NAMES, value_report
from gdlnn.report.cards import diagram
from gdlnn.version import package_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from gdlnn.explain import Explanation
    from gdlnn.graphs import GraphDataset
    from gdlnn.model import GDLNNRegressor
    from gdlnn.model.representation import ValueRepresentation

FORMAT = "gdlnn-value-report"
MOST_CONTRIBUTIONS = 20
"""How many of the strongest contributions are listed."""
MOST_SHOWN = 100
"""How many graphs are shown with what raises and lowers their value."""


def build_value_report(
    model: GDLNNRegressor,
    held_out: GraphDataset,
    table: ValueRepresentation,
    n_known: int,
    *,
    title: str,
    n_reasons: int,
    most_graphs: int,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Return everything that a report shows of a regressor on graphs it was not trained on, as JSON values.

    Parameters
    ----------
    model, held_out, table
        The regressor, graphs with values, and the graphs as the model represents them.
    n_known
        How many graphs were left out because the model was trained on them.
    title, n_reasons, most_graphs, say
        The headline, how many groups an explanation names, how many graphs are shown, and how to report
        progress.
    """
    truth = np.asarray(held_out.y, dtype=np.float64)
    scores = value_report(truth, table.labels, model.training_.labels, table.intervals)
    shown = min(len(table), most_graphs, MOST_SHOWN)
    say(f"explaining {shown} graphs")
    explained: list[Explanation] = explain(model, table.take(range(shown)), n_reasons=n_reasons)
    if held_out.smiles is not None:
        explained = with_smiles(explained, held_out.smiles[:shown])
    directed, schema = model.programs_.info.directed, model.schema_
    rows = group_contributions(model)
    return {
        "format": FORMAT,
        "title": title or held_out.name or "GDLNN",
        "made_by": f"gdlnn {package_version()}",
        "target": str(table.classes[0]),
        "unit": model.unit,
        "molecules": schema is not None and schema.domain == "molecule",
        "data": {
            "training": {"graphs": len(model.training_.labels)},
            "held_out": {"graphs": len(truth), "left_out": n_known, "split": held_out.split_source},
        },
        "model": {"n_programs": len(model.programs_), "choice": model.choice_},
        "performance": {"n": len(truth), **scores, "domains": _by_domain(model, truth, table)},
        "points": np.column_stack([truth, table.labels, table.intervals]).tolist(),
        "contributions": [
            {
                **row._asdict(),
                "diagram": diagram(
                    model.programs_[row.column].program, schema, directed, model.programs_[row.column].example
                ),
            }
            for row in rows[:MOST_CONTRIBUTIONS]
        ],
        "graphs": [
            {**shown_graph(one), "measured": float(value)}
            for one, value in zip(explained, truth, strict=False)
        ],
    }


def _by_domain(
    model: GDLNNRegressor, truth: npt.NDArray[np.float64], table: ValueRepresentation
) -> list[dict[str, Any]]:
    """Return the scores of graphs like the training graphs, at the edge, and unlike them."""
    found = []
    for name in ("inside", "edge", "outside"):
        rows = [row for row, answer in enumerate(table.domains) if answer.domain == name]
        if rows:
            part = table.take(rows)
            scores = value_report(truth[rows], part.labels, model.training_.labels, part.intervals)["model"]
            found.append({"domain": name, "scores": scores})
    return found


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
