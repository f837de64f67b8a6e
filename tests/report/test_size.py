"""A report of 400 molecules is small enough to send, whatever its programs look like as SMARTS."""

import json
from pathlib import Path

import pytest

from gdlnn import load_dataset
from gdlnn.report import ReportOptions, build_report, render_report
from gdlnn.report.cards import LONGEST_SMARTS, MOST_LISTED
from reference.models import quick

MOST_BYTES = 4_000_000


@pytest.mark.long
def test_a_report_of_400_molecules_and_a_full_table(data_dir: Path) -> None:
    """Measured on fewer of both: the page grows with what it lists."""
    data = load_dataset("BBBP", data_dir, download=False)
    model = quick(epsilon=1, targets=[*range(15)], pooled=False).fit(data[:150])
    others = data[300:400]
    unseen = [row for row, known in enumerate(model.represent(others).in_training) if not known]
    report = build_report(model, others.take(unseen[:80]), ReportOptions(max_counterfactuals=0))
    page, programs, graphs = render_report(report), report["programs"], report["graphs"]
    assert len(programs) >= 10
    assert len(graphs) == 80
    of_programs, of_graphs = (sum(len(json.dumps(row)) for row in rows) for rows in (programs, graphs))
    rest = len(page.encode()) - of_programs - of_graphs
    assert rest + of_programs / len(programs) * MOST_LISTED + of_graphs / len(graphs) * 400 < MOST_BYTES
    assert any(row["smarts"] for row in programs)
    assert all(len(row["smarts"] or "") <= LONGEST_SMARTS for row in programs)
