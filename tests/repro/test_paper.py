"""The command `paper`: one mining run for each ε, a choice by validation alone, a run that resumes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdlnn import load_model, make_ba_2motifs
from gdlnn.mining import mine
from repro.__main__ import main
from repro.cells import RunConfig, Study, read_cells
from repro.methods import METHODS
from repro.paper import tune

SPACE = {"epsilon": (0.1, 1), "k": (0.2, 1.0), "learning_rate": (0.01, 0.0005)}


def test_the_command_tunes_the_recipe_saves_it_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    method = METHODS["gdlnn-paper"]
    assert len(method.configurations("paper")) == 4 * 6 * 3
    fixed = {"epochs": 8, "hidden": (8,)}
    monkeypatch.setitem(METHODS, "gdlnn-paper", replace(method, space=SPACE, fixed=fixed))
    epsilons: list[Any] = []

    def counted(data: Any, **options: Any) -> Any:
        epsilons.append(options["epsilon"])
        return mine(data, **options)

    monkeypatch.setattr("repro.inputs.mine", counted)
    file, out = tmp_path / "model.gdlnn", tmp_path / "out"
    words = ["paper", "synthetic:ba-2motifs:40:1", "-o", str(file), "--split", "random"]
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            main([*words, "--jobs", "1", "--out", str(out)])
        assert ended.value.code == 0
        shown = capsys.readouterr()
        assert "model.gdlnn: written" in shown.out
    assert "[8/8]" not in shown.err
    assert epsilons == [0.1, 1]
    trials = read_cells(out / "paper.jsonl")
    assert len(trials) == 8
    best = min(trials, key=lambda trial: (-trial["metrics"]["accuracy"], trial["metrics"]["log_loss"]))
    model = load_model(file)
    assert model.choice_ == {
        **best["configuration"],
        "by": "accuracy on 4 validation graphs out of 8 combinations",
    }
    split = make_ba_2motifs(40, random_state=1).split("random", 0)
    assert model.score(split.val) == best["metrics"]["accuracy"]
    with Study("paper", RunConfig(str(out))) as study:
        again = tune(study, words[1], split)
    np.testing.assert_array_equal(model.predict_proba(split.test), again.predict_proba(split.test))
