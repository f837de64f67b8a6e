"""The study of accuracy and the ablation: splits, choosing by validation, failures, the command line."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdlnn import make_ba_2motifs
from gdlnn.errors import GDLNNError, MiningError
from repro.__main__ import main
from repro.accuracy import run_accuracy
from repro.accuracy_tables import write_accuracy
from repro.cells import RunConfig, Study, read_cells
from repro.inputs import PROTOCOLS, data_fingerprint, forget, load_split, make_split, plan_splits
from repro.methods import METHODS

SMALL = "synthetic:ba-2motifs:60:3"
QUICKLY = ("--runs", "2", "--jobs", "1", "--device", "cpu")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    forget()
    yield
    forget()


def cells_of(folder: Path, methods: list[str], n_workers: int = 1, **settings: Any) -> list[dict[str, Any]]:
    with Study("accuracy", RunConfig(str(folder), device="cpu", n_workers=n_workers)) as study:
        return run_accuracy(study, settings.pop("datasets", [SMALL]), methods, **{"n_runs": 2, **settings})


def command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 0


def test_cells_hold_what_made_them_and_are_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "gdlnn-paper", replace(METHODS["gdlnn-paper"], fixed={"epochs": 5}))
    names = ["majority", "wl", "pl4xgl", "gdlnn-paper"]
    found = cells_of(tmp_path, names)
    # Methods without chance run once on a split, the others with every seed.
    assert [(cell["method"], cell["seed"]) for cell in found] == [
        *(("majority", 0), ("wl", 0), ("pl4xgl", 0), ("gdlnn-paper", 0), ("gdlnn-paper", 1))
    ]
    cell = found[-1]
    assert cell["status"] == "ok"
    assert cell["configuration"] == {"epsilon": 0.1, "k": 1.0, "learning_rate": 0.005}
    assert {"python", "gdlnn", "numpy", "torch"} <= set(cell["versions"])
    assert set(cell["times"]) == {"fit", "fit_cpu", "predict", "mining", "mining_cpu"}
    assert cell["sizes"] == [48, 6, 6]
    assert len(cell["truth"]) == len(cell["predicted"]) == 6
    before = (tmp_path / "accuracy.jsonl").read_bytes()
    assert cells_of(tmp_path, names) == found
    assert (tmp_path / "accuracy.jsonl").read_bytes() == before


def test_configurations_are_chosen_by_validation_alone(tmp_path: Path) -> None:
    (cell,) = cells_of(tmp_path, ["wl"], grid="paper", n_configurations=3, n_runs=1)
    trials = read_cells(tmp_path / "trials.jsonl")
    assert len(trials) == 3
    (_, val, _), _ = load_split(SMALL, "paper", "paper", None)
    assert all(trial["truth"] == np.asarray(val.y).tolist() for trial in trials)
    best = min(trials, key=lambda trial: (-trial["metrics"]["accuracy"], trial["metrics"]["log_loss"]))
    assert cell["n_configurations"] == 3
    assert cell["configuration"] == best["configuration"]


def test_a_failing_method_leaves_its_reason_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "wl", replace(METHODS["wl"], fixed={"unknown": 1}))
    monkeypatch.setattr("repro.methods.mined_programs", lambda *_: _refuse())
    datasets = ["nothing/there.csv", SMALL]
    found = cells_of(tmp_path, ["wl", "pl4xgl", "majority"], datasets=datasets, n_runs=1)
    reasons = {(cell["dataset"], cell["method"]): cell.get("reason", "") for cell in found}
    assert "unexpected keyword" in reasons[SMALL, "wl"]
    assert reasons[SMALL, "pl4xgl"] == "MiningError: no such luck"
    assert reasons[SMALL, "majority"] == ""
    assert "there.csv" in reasons["nothing/there.csv", "majority"]
    text = write_accuracy(tmp_path, read_cells(tmp_path / "accuracy.jsonl"), "paper")
    assert "### What could not be run" in text
    assert "| WL | failed | failed |" in text
    assert "Majority" in text


def _refuse() -> None:
    raise MiningError("no such luck")


@pytest.mark.long
def test_processes_give_the_same_as_one(tmp_path: Path) -> None:
    methods = ["majority", "wl", "pl4xgl"]
    one, two = cells_of(tmp_path / "one", methods), cells_of(tmp_path / "two", methods, n_workers=2)
    for cell, other in zip(one, two, strict=True):
        assert (cell["predicted"], cell["metrics"]) == (other["predicted"], other["metrics"])


@pytest.mark.parametrize("protocol", ["paper", "repeated", "cv"])
def test_protocols_cover_the_data_once(protocol: Any) -> None:
    data = make_ba_2motifs(n=50, random_state=1)
    plans = plan_splits(protocol)
    assert sum(len(plan.seeds) for plan in plans) == (10 if protocol == "cv" else 5)
    tested: list[int] = []
    for plan in plans:
        split = make_split(data, protocol, plan.name)
        rows = np.concatenate([part.indices for part in split])
        assert sorted(rows.tolist()) == list(range(50))
        assert [len(part) for part in split] == [40, 5, 5]
        tested += split.test.indices.tolist()
    if protocol == "cv":
        assert sorted(tested) == list(range(50))


def test_fingerprints_are_of_data_and_split() -> None:
    data, other = make_ba_2motifs(n=20, random_state=1), make_ba_2motifs(n=20, random_state=2)
    assert data_fingerprint(data) == data_fingerprint(make_ba_2motifs(n=20, random_state=1))
    assert data_fingerprint(data) != data_fingerprint(other)
    marks = {load_split(SMALL, "repeated", name, None)[1] for name in ("random-11", "random-12")}
    assert len(marks) == 2
    with pytest.raises(GDLNNError, match="protocol: expected one of paper, repeated, cv, scaffold, got 'no'"):
        plan_splits("no")  # type: ignore[arg-type]
    assert PROTOCOLS == ("paper", "repeated", "cv", "scaffold")


def test_fingerprints_are_those_of_version_0_2(data_dir: Path) -> None:
    """Its cells in repro/results are paired with later ones by them."""
    assert load_split("BA-2Motifs", "repeated", "random-11", str(data_dir))[1] == "f1cea22793685d81"


def test_the_command_writes_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--datasets", SMALL, "--out", str(tmp_path / "out"), *QUICKLY]
    command("accuracy", *common, "--methods", "majority,wl,wl-oa", "--protocol", "repeated")
    shown = capsys.readouterr()
    assert "| WL-OA |" in shown.out
    assert "[6/6]" in shown.err
    assert {file.name for file in (tmp_path / "out").glob("accuracy-*")} == {
        "accuracy-repeated.csv",
        "accuracy-repeated.md",
    }
    for arguments, message, code in (
        (["--methods", "magic"], "--methods: expected some of majority", 2),
        (["--methods", ","], "--methods: expected at least one name", 2),
        (["--methods", "wl", "--datasets", str(tmp_path / "no.csv")], "2 cell(s) failed; the reasons", 1),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["accuracy", *common, "--protocol", "repeated", *arguments])
        assert ended.value.code == code
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["magic"])
    assert ended.value.code == 2
