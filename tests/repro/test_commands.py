"""Every command runs on small data, writes its table, and computes nothing again when it is run again."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from gdlnn import GDLNNClassifier
from repro import domain, heads, imbalance, stability
from repro.__main__ import COMMANDS, main
from repro.inputs import TARGETS, forget
from repro.planted import plant

RINGS = ("c1ccccc1", "C1CCCCC1", "C1CCCC1", "c1ccoc1", "C1CC1", "c1ccsc1")
SMILES = [f"{end}{'C' * n}{ring}" for ring in RINGS for n in range(1, 7) for end in ("N", "O")]
SMALL = "synthetic:ba-2motifs:40:3"
TABLES = {"BBBP/BBBP.csv": "p_np", "BACE/bace.csv": "Class", "ESOL/ESOL.csv": TARGETS["ESOL"][1]}
CALLS = {
    "ablation": f"--datasets {SMALL} --variants no-forest,no-linear --runs 1",
    "rules": "--rules made-ring --methods random --graphs 2",
    "stability": f"--datasets {SMALL} --runs 2 --graphs 2",
    "heads": f"--datasets {SMALL} --runs 2",
    "imbalance": "--datasets BBBP --runs 1",
    "domain": "--datasets BACE --runs 1",
    "regression": "--datasets ESOL --methods gdlnn-linear,mean --runs 2",
}
ELSEWHERE = {"accuracy", "explain", "cost", "motifs", "chemprop", "paper", "keep"}
"""Commands that the tests of their own run."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in (domain, imbalance, stability):
        monkeypatch.setattr(module, "GDLNNClassifier", partial(GDLNNClassifier, head="linear"))
    monkeypatch.setattr("repro.rules.plant", partial(plant, n_made=60))
    monkeypatch.setattr(heads, "HEADS", ("gdlnn-linear",))
    monkeypatch.setattr(heads, "INPUTS", ("ablation-counts",))
    forget()
    yield
    forget()


def run(*words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 0


def lines_in(folder: Path) -> dict[str, int]:
    return {file.name: len(file.read_text().splitlines()) for file in folder.glob("*.jsonl")}


@pytest.mark.parametrize("name", CALLS)
def test_a_command_resumes(name: str, tmp_path: Path) -> None:
    for file, label in TABLES.items():
        (tmp_path / file).parent.mkdir()
        y = [float(len(text)) if "ESOL" in file else int("N" in text) for text in SMILES]
        pd.DataFrame({"smiles": SMILES, label: y}).to_csv(tmp_path / file, index=False)
    out = tmp_path / "out"
    words = [name, *CALLS[name].split(), "--out", str(out), "--jobs", "1"]
    words += ["--data", str(tmp_path)] if name != "rules" else []
    run(*words)
    assert (out / f"{name}.jsonl").is_file()
    assert list(out.glob(f"{name}*.csv"))
    before = lines_in(out)
    run(*words)
    assert lines_in(out) == before


def test_cells_of_a_study_are_kept(tmp_path: Path) -> None:
    out, kept = tmp_path / "out", tmp_path / "kept"
    run("accuracy", "--datasets", SMALL, "--methods", "majority", "--out", str(out), "--jobs", "1")
    run("keep", str(out / "accuracy.jsonl"), "--out", str(kept))
    assert "| Majority |" in (kept / "accuracy-paper.md").read_text()


def test_all_commands_are_run_somewhere() -> None:
    assert {*CALLS, *ELSEWHERE} == set(COMMANDS)
