"""`gdlnn predict`: what it loads."""

import subprocess
import sys
from pathlib import Path

import pytest

from gdlnn.cli.predict import BATCH
from gdlnn.model.representation import FEW_BATCHES
from reference.command_line import rows_of, run

MODEL = Path(__file__).parents[1] / "golden/bbbp-default.gdlnn"


def test_predicting_loads_nothing_that_only_training_needs(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("smiles\nCCO\n")
    code = (
        "import sys; from gdlnn.cli import main\n"
        f"try: main(['predict', {str(MODEL)!r}, {str(tmp_path / 'one.csv')!r}, '-o', '-', '--quiet'])\n"
        "except SystemExit: pass\n"
        "slow = 'torch pandas.core scipy.stats._stats_py scipy.optimize sklearn.ensemble'\n"
        "print([name for name in slow.split() if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1].startswith("CCO,1,1,0.")
    assert done.stderr.strip() == "[]"


def test_without_an_output_predictions_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    run("predict", MODEL, "CCO", "-q", "-j", 1)
    assert capsys.readouterr().out.splitlines()[1].split(",")[2:4] == ["CCO", "1"]


def test_processes_import_nothing_from_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "joblib.py").write_text("raise SystemExit('this must not run')")
    (tmp_path / "in.csv").write_text("smiles\n" + "C\n" * FEW_BATCHES * BATCH)
    words = [f"{Path(sys.executable).parent}/gdlnn", "predict", str(MODEL), "in.csv", "-o", "out.csv", "-j2"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, len(rows_of(tmp_path / "out.csv"))) == (0, FEW_BATCHES * BATCH), done.stderr


def test_a_spreadsheet_runs_nothing_of_a_table(tmp_path: Path) -> None:
    cells = ["=1+2", "+x", "-5.5", "@SUM(A1)", "-", "plain"]
    (tmp_path / "in.csv").write_text("smiles,note\n" + "".join(f"CCO,{cell}\n" for cell in cells))
    run("predict", MODEL, tmp_path / "in.csv", "-o", tmp_path / "out.csv", "-q", "-j", 1)
    shown = [row["note"] for row in rows_of(tmp_path / "out.csv")]
    assert shown == ["'=1+2", "'+x", "-5.5", "'@SUM(A1)", "-", "plain"]
