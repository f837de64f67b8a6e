"""The report of 400 molecules: small enough to send, whatever its programs look like as SMARTS."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gdlnn import load_dataset
from gdlnn.report import ReportOptions, build_report, render_report
from gdlnn.report.cards import LONGEST_SMARTS, MOST_LISTED
from reference.models import quick

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 4_000_000
PROGRAMS = MOST_LISTED
"""As many as the table has, whatever the model."""


def test_a_report_of_400_molecules(data_dir: Path) -> None:
    data = load_dataset("BBBP", data_dir, download=False)
    model = quick(epsilon=(0.1, 1), targets=[*range(25)], pooled=False).fit(data[:300])
    others = data[300:800]
    unseen = [row for row, seen in enumerate(model.represent(others).seen) if not seen]
    report = build_report(model, others.take(unseen[:400]), ReportOptions(max_counterfactuals=0))
    page = render_report(report)
    assert len(report["graphs"]) == 400
    programs = report["programs"]
    assert len(programs) >= 30
    of_programs = sum(len(json.dumps(row)) for row in programs)
    expected = len(page.encode()) - of_programs + of_programs / len(programs) * PROGRAMS
    assert expected < MOST_BYTES
    assert any(row["smarts"] for row in programs)
    assert all(len(row["smarts"] or "") <= LONGEST_SMARTS for row in programs)
