"""The parts of the page that stand still: headline, data, performance, global explanation."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from gdlnn.report.charts import calibration_chart, learning_chart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Report = dict[str, Any]


def names_of(report: Report) -> dict[Any, str]:
    """Return what each class is called."""
    return {item["label"]: item["name"] for item in report["classes"]}


def percent(value: float) -> str:
    """Return a share in percent with one digit."""
    return f"{100 * value:.1f} %"


def _interval(bounds: Sequence[float]) -> str:
    return f"{100 * bounds[0]:.1f} – {100 * bounds[1]:.1f} %"


def headline(report: Report) -> str:
    """Return the few figures that everybody asks for first."""
    found, names = report["performance"], names_of(report)
    area = found["scores"]["roc_auc"]
    majority = found["majority"]
    tiles = [
        _tile(
            "Accuracy", percent(found["accuracy"]), f"95 % interval {_interval(found['accuracy_interval'])}"
        ),
        _tile(
            "Majority class",
            percent(majority["accuracy"]),
            f"always “{names.get(majority['label'], majority['label'])}”",
        ),
        _tile("ROC-AUC", "–" if area is None else f"{area:.3f}", f"{found['n']} held-out graphs"),
        _tile("Programs", str(report["model"]["n_programs"]), _mined_from(report)),
    ]
    return f"<div class='tiles'>{''.join(tiles)}</div>"


def _mined_from(report: Report) -> str:
    return f"mined from {report['data']['training']['graphs']} graphs"


def _tile(name: str, figure: str, note: str) -> str:
    return (
        f"<div class='tile'><div class='name'>{escape(name)}</div><div class='figure'>{escape(figure)}</div>"
        f"<div class='note'>{escape(note)}</div></div>"
    )


def data_section(report: Report) -> str:
    """Return which graphs there are, and how they were split."""
    data, names = report["data"], names_of(report)
    training, held = data["training"], data["held_out"]
    counts = {part: dict(map(tuple, data[part]["classes"])) for part in ("training", "held_out")}
    rows = "".join(
        f"<tr><th scope='row'>{escape(name)}</th>"
        f"{_share(counts['training'].get(label, 0), training['graphs'])}"
        f"{_share(counts['held_out'].get(label, 0), held['graphs'])}</tr>"
        for label, name in names.items()
    )
    features = f"{held['node_features']} per node, {held['edge_features']} per edge"
    facts = [
        ("Split", held["split"]),
        ("Average size", f"{held['avg_nodes']:.1f} nodes, {held['avg_edges']:.1f} edges"),
        ("Features", features),
        ("Edges", "directed" if data["directed"] else "undirected"),
    ]
    if data["skipped_rows"]:
        facts.append(("Rows not read", str(data["skipped_rows"])))
    return (
        "<div class='two'><div class='card'><h3>Graphs</h3><table><thead><tr><th scope='col'>Class</th>"
        "<th scope='col' class='number'>Training</th><th scope='col' class='number'>Held out</th></tr>"
        f"</thead><tbody>{rows}</tbody><tfoot><tr><th scope='row'>All</th>"
        f"<td class='number'>{training['graphs']}</td><td class='number'>{held['graphs']}</td></tr>"
        f"</tfoot></table></div>"
        f"<div class='card'><h3>About them</h3>{_facts(facts)}</div></div>"
    )


def _share(count: int, total: int) -> str:
    return f"<td class='number'>{count} <span class='quiet'>{100 * count / max(1, total):.0f} %</span></td>"


def _facts(pairs: Sequence[tuple[str, str]]) -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs)
    return f"<dl>{items}</dl>"


def performance_section(report: Report) -> str:
    """Return the confusion matrix, further scores, calibration and the learning curve."""
    found = report["performance"]
    scores = found["scores"]

    def shown(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    majority = found["majority"]
    facts = [
        ("Accuracy", f"{percent(found['accuracy'])} ({found['n_right']} of {found['n']})"),
        ("Majority class", f"{percent(majority['accuracy'])} ({_interval(majority['interval'])})"),
        ("Balanced accuracy", percent(scores["balanced_accuracy"])),
        ("Matthews correlation", shown(scores["mcc"])),
        ("Brier score", shown(found["brier"])),
        ("Calibration error", percent(found["calibration"]["error"])),
    ]
    curve = report["learning_curve"]
    chart = learning_chart(curve) if curve else "<p class='quiet'>The head keeps no history.</p>"
    return (
        f"<div class='two'><div class='card'><h3>Confusion</h3>{_confusion(report)}</div>"
        f"<div class='card'><h3>Scores</h3>{_facts(facts)}</div>"
        "<div class='card'><h3>Calibration</h3><p class='quiet'>On the dashed line, a prediction said to be "
        f"80 % sure is right in 80 % of the cases.</p>{calibration_chart(found['calibration'])}</div>"
        "<div class='card'><h3>Learning curve</h3><p class='quiet'>Loss of the head by epoch, mean over its "
        f"members.</p>{chart}</div></div>"
    )


def _confusion(report: Report) -> str:
    names, table = names_of(report), report["performance"]["confusion"]
    head = "".join(f"<th scope='col' class='number'>{escape(name)}</th>" for name in names.values())
    rows = []
    for i, name in enumerate(names.values()):
        total = max(1, sum(table[i]))
        cells = "".join(
            f"<td class='number cell {'hit' if i == j else 'miss'}' style='--share:{count / total:.3f}'>"
            f"{count}</td>"
            for j, count in enumerate(table[i])
        )
        rows.append(f"<tr><th scope='row'>{escape(name)}</th>{cells}</tr>")
    return (
        "<table class='confusion'><caption class='quiet'>Rows: what is true. Columns: what was predicted."
        f"</caption><thead><tr><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def global_section(report: Report) -> str:
    """Return the programs that decide, class by class."""
    names = names_of(report)
    rows = {row["index"]: row for row in report["programs"]}
    parts = []
    for item in report["global"]:
        largest = max((abs(p["mean_weight"]) for p in item["programs"]), default=1.0) or 1.0
        cards = "".join(_global_program(p, rows[p["index"]], largest) for p in item["programs"])
        name = escape(names.get(item["label"], str(item["label"])))
        parts.append(
            f"<div class='card'><h3>{name} <span class='quiet'>predicted for {item['n_graphs']} graphs</span>"
            f"</h3><ol class='deciders'>{cards or '<li class=quiet>No program decides.</li>'}</ol></div>"
        )
    return f"<div class='two'>{''.join(parts)}</div>"


def _global_program(item: Mapping[str, Any], row: Mapping[str, Any], largest: float) -> str:
    weight = item["mean_weight"]
    side = "for" if weight >= 0 else "against"
    return (
        f"<li><div class='diagram'>{row.get('diagram', '')}</div>"
        f"<p class='words clamp' title='{escape(row['words'])}'>{escape(row['words'])}</p>"
        f"<div class='weight {side}'><span style='width:{100 * abs(weight) / largest:.0f}%'></span></div>"
        f"<p class='quiet'>speaks {side} it by {_small(abs(weight))} on average; in {item['coverage']:.0%} "
        f"of these graphs; decides in {item['frequency']:.0%} · "
        f"<a href='#graphs' data-program='{row['index']}'>show graphs</a></p></li>"
    )


def _small(value: float) -> str:
    return f"{value:.3f}" if value >= 0.01 or not value else f"{value:.1g}"


def about_section(report: Report) -> str:
    """Return how the model was made, for those who want to make it again."""
    parameters = report["model"]["parameters"]
    pairs = [(name, str(value)) for name, value in sorted(parameters.items())]
    explained = report["explained_by"]
    told = (
        f"Graphs are explained by {explained['technique']} with up to {explained['n_features']} programs, "
        f"seed {explained['seed']}. Odds ratios are of held-out graphs, half a graph added to each count."
    )
    return (
        f"<div class='card'><p>{escape(told)}</p><details><summary>Parameters of the model</summary>"
        f"{_facts(pairs)}</details><p><button type='button' id='save-json'>Save everything as JSON</button>"
        f"</p><p class='quiet'>Made by {escape(report['made_by'])}. Data fingerprint: "
        f"<code>{escape(report['data']['training']['fingerprint'][:16] or 'none')}</code>.</p></div>"
    )
