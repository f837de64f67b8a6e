"""`make results-quick` reproduces a part of the kept results."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from repro.cells import read_cells

ROOT = Path(__file__).parents[2]
CERTAIN = ("majority", "wl", "pooled-rf")
"""Methods whose results do not depend on the machine; other machines add numbers in another order."""


@pytest.mark.long
def test_a_part_of_the_results_is_reproduced(tmp_path: Path, data_dir: Path) -> None:
    call = ["make", "-C", str(ROOT), "-o", "setup", "results-quick", f"QUICK_OUT={tmp_path}"]
    variables = {**os.environ, "GDLNN_DATA": str(data_dir)}
    made = subprocess.run(call, env=variables, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[-2000:]
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    for title in ("### Accuracy", "### Sparsity at equal fidelity", "### Cost by part"):
        assert title in text
    names = ("dataset", "method", "split")
    lines = (ROOT / "repro" / "results" / "accuracy-0.2.jsonl").read_text().splitlines()
    kept = {tuple(cell[name] for name in names): cell for cell in map(json.loads, lines)}
    found = [cell for cell in read_cells(tmp_path / "accuracy.jsonl") if cell["method"] in CERTAIN]
    assert len(found) == 18
    for cell in found:
        expected = kept[tuple(cell[name] for name in names)]
        assert cell["metrics"]["accuracy"] == pytest.approx(expected["metrics"]["accuracy"]), cell
