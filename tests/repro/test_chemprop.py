"""chemprop side by side: its splits are those of our own studies, and its predictions are scored alike."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gdlnn import make_ba_2motifs
from repro import chemprop
from repro.__main__ import main
from repro.cells import read_cells
from repro.inputs import TARGETS, target_rows

FAKE = """
import sys, pathlib, pandas as pd
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
table = pd.read_csv(given["--data-path"])
train, test = (table[table["split"] == part] for part in ("train", "test"))
folder = pathlib.Path(given["--save-dir"]) / "model_0"
folder.mkdir(parents=True)
test[["smiles"]].assign(y=train["y"].mean()).to_csv(folder / "test_predictions.csv", index=False)
"""


def test_rows_of_a_regression_are_those_of_a_random_split() -> None:
    data = make_ba_2motifs(n=37, random_state=0)
    split = data.split("random", 11, (0.9, 0.0, 0.1))
    for mine, part in zip(target_rows(37, 11), (split.train, split.test), strict=True):
        assert mine.tolist() == part.indices.tolist()


def test_a_cell_scores_the_predictions_of_the_test_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ESOL").mkdir()
    y = np.arange(30.0)
    column = TARGETS["ESOL"][1]
    table = pd.DataFrame({"smiles": ["C" * (i + 1) for i in range(30)], column: y})
    table.to_csv(tmp_path / "ESOL" / "ESOL.csv", index=False)
    monkeypatch.setattr(chemprop, "CALL", FAKE)
    monkeypatch.setattr(chemprop, "VERSION_CALL", "print('2.2')")
    words = ["chemprop", "--datasets", "ESOL", "--runs", "1", "--python", sys.executable]
    for _ in range(2):  # the second time, nothing is computed
        with pytest.raises(SystemExit) as ended:
            main([*words, "--data", str(tmp_path), "--out", str(tmp_path / "out")])
        assert ended.value.code == 0
    assert len((tmp_path / "out" / "chemprop.jsonl").read_text().splitlines()) == 1
    (cell,) = read_cells(tmp_path / "out" / "chemprop.jsonl")
    assert cell["chemprop"] == "2.2"
    assert cell["sizes"] == [24, 3, 3]
    train, test = target_rows(30, 11)
    held_out = np.random.default_rng(11).permutation(train)[:3]
    mean = y[np.setdiff1d(train, held_out)].mean()
    assert cell["metrics"] == {"rmse": pytest.approx(np.sqrt(np.mean((y[test] - mean) ** 2)))}
    frame = chemprop.scores_table([cell])
    assert frame[["dataset", "splits", "accuracy"]].to_numpy().tolist() == [["ESOL", "1", "–"]]
