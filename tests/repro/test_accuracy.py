"""A study: cells, resuming, choosing by validation, failures, tables, the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gdlnn import Mined, make_ba_2motifs
from gdlnn.errors import DatasetError, GDLNNError, MiningError
from gdlnn.model.vocabulary import make_sources
from repro import METHODS, PROTOCOLS, AccuracyPlan, RunConfig, Store, Study, Task, run_task
from repro import methods as methods_module
from repro.__main__ import main
from repro.accuracy import compute_accuracy, write_accuracy
from repro.inputs import (
    MiningSpec,
    data_fingerprint,
    ensure_programs,
    forget,
    load_programs,
    make_split,
    plan_splits,
    save_programs,
    stored_split,
)
from repro.methods import BASE, VARIANTS
from repro.pool import Pool
from repro.store import config_key
from repro.tables import replace_part

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SMALL = "synthetic:ba-2motifs:60:3"
QUICKLY = ("--runs", "2", "--jobs", "1", "--device", "cpu")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    forget()
    yield
    forget()


def study(folder: Path, methods: list[str], n_workers: int = 1, **settings: Any) -> tuple[Study, list[str]]:
    said: list[str] = []
    plan = AccuracyPlan(**{"datasets": [SMALL], "methods": methods, "n_runs": 2, **settings})
    config = RunConfig(str(folder), device="cpu", n_workers=n_workers)
    return Study(plan, config, lambda done, total, says: said.append(f"{done}/{total} {says}")), said


def command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 0


def cells(folder: Path) -> dict[str, Any]:
    return {file.stem: json.loads(file.read_text()) for file in sorted((folder / "cells").glob("*.json"))}


def test_cells_hold_what_made_them_and_are_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "gdlnn-paper", replace(METHODS["gdlnn-paper"], fixed={"epochs": 5}))
    first, said = study(tmp_path, ["majority", "wl", "pl4xgl", "gdlnn-paper"])
    assert first.run() == 0
    found = cells(tmp_path)
    # Methods without chance run once on a split, the others with every seed.
    assert [name.split("--")[3] + name[-3:] for name in found] == [
        "gdlnn-paper-s0", "gdlnn-paper-s1", "majority-s0", "pl4xgl-s0", "wl-s0",
    ]  # fmt: skip
    cell = next(iter(found.values()))
    assert cell["status"] == "ok"
    assert cell["configuration"] == {"epsilon": 0.1, "k": 1.0, "learning_rate": 0.005}
    assert {"python", "gdlnn", "numpy", "torch"} <= set(cell["versions"])
    assert {"fit", "fit_cpu", "predict", "mining_cpu"} == set(cell["times"])
    assert cell["sizes"] == [48, 6, 6]
    assert len(cell["predicted"]) == 6
    assert said[-1].startswith("5/5 ")
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.json*")}
    again, said = study(tmp_path, ["majority", "wl", "pl4xgl", "gdlnn-paper"])
    assert again.run() == 0
    assert said == []
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.json*")} == before


def test_resumed_mining_counts_from_the_beginning(tmp_path: Path) -> None:
    study(tmp_path, ["pl4xgl"])[0].run()
    (file,) = (tmp_path / "programs").iterdir()
    mined = load_programs(file)
    # As if all but the last second had been spent before an interruption.
    mined.stats = replace(mined.stats, cpu_seconds=1.0, descent_seconds=60.0)
    save_programs(mined, file)
    forget()
    for cell in (tmp_path / "cells").iterdir():
        cell.unlink()
    study(tmp_path, ["pl4xgl"])[0].run()
    assert [cell["times"]["mining_cpu"] for cell in cells(tmp_path).values()] == [60.0]


def test_configurations_are_chosen_by_validation_alone(tmp_path: Path) -> None:
    options: dict[str, Any] = {"grid": "paper", "n_configurations": 3, "n_runs": 1}
    study(tmp_path, ["wl"], **options)[0].run()
    trials = [json.loads(file.read_text()) for file in (tmp_path / "trials").glob("*.json")]
    assert len(trials) == 3
    assert all("metrics" not in trial and "predicted" not in trial for trial in trials)
    best = min(trials, key=lambda trial: (-trial["val_accuracy"], trial["val_loss"]))
    (cell,) = cells(tmp_path).values()
    assert (cell["grid"], cell["n_configurations"]) == ("paper-3", 3)
    assert cell["configuration"] == best["configuration"]
    assert cell["selection_seconds"] > 0
    # Trials are kept: only the cell is made again.
    next((tmp_path / "cells").glob("*.json")).unlink()
    again = study(tmp_path, ["wl"], **options)
    again[0].run()
    assert [line.split(" ")[0] for line in again[1]] == ["4/4"]
    assert "accuracy" in again[1][0]


def test_a_failing_method_leaves_its_reason_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "wl", replace(METHODS["wl"], fixed={"unknown": 1}))
    datasets = ["nothing/there.csv", SMALL]
    broken, _ = study(tmp_path, ["wl", "majority"], datasets=datasets, n_runs=1)
    assert broken.run() == 3
    found = cells(tmp_path)
    reasons = {name.split("--")[0]: cell["reason"] for name, cell in found.items() if "reason" in cell}
    assert "unexpected keyword" in reasons["synthetic-ba-2motifs-60-3"]
    assert "there.csv" in reasons["nothing-there.csv"]
    text = write_accuracy(Store(tmp_path), "paper")
    assert "### What could not be run" in text
    assert "| WL | failed | failed |" in text
    assert "Majority" in text


@pytest.mark.parametrize("grid", ["quick", "paper"])
def test_a_method_that_needs_molecules_is_not_applicable_elsewhere(grid: Any, tmp_path: Path) -> None:
    asked, said = study(tmp_path, ["ecfp-rf", "majority"], grid=grid, n_runs=1)
    assert asked.run() == 0  # not a failure
    assert any("ecfp-rf seed 0: it needs molecules" in line for line in said)
    (cell,) = (cell for cell in cells(tmp_path).values() if cell["method"] == "ecfp-rf")
    assert cell["status"] == "n/a"
    text = write_accuracy(Store(tmp_path), "paper")
    assert "| ECFP4 + forest | n/a |" in text
    assert "failed" not in text
    assert f"- ECFP4 + forest on {SMALL}: it needs molecules, and these graphs are not" in text
    again, said = study(tmp_path, ["ecfp-rf", "majority"], grid=grid, n_runs=1)
    assert again.run() == 0
    assert said == []


def test_what_cannot_be_mined_fails_once_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def refuse(train: Any, spec: MiningSpec, file: Path, n_jobs: int) -> None:
        tried.append(spec.key)
        raise MiningError("no such luck")

    monkeypatch.setattr("repro.study.ensure_programs", refuse)
    broken, said = study(tmp_path, ["gdlnn-paper", "majority"])
    assert broken.run() == 2
    assert tried == ["greedy-eps0.1"]  # not again for the second seed
    found = cells(tmp_path)
    assert sorted(cell.get("reason", "ok") for cell in found.values()) == [
        *["MiningError: no such luck"] * 2,
        "ok",
    ]
    assert said[-1].startswith("3/3 ")
    monkeypatch.undo()
    monkeypatch.setitem(METHODS, "gdlnn-paper", replace(METHODS["gdlnn-paper"], fixed={"epochs": 2}))
    assert study(tmp_path, ["gdlnn-paper", "majority"])[0].run() == 0


def test_of_equal_trials_the_first_configuration_is_chosen() -> None:
    plan, task = AccuracyPlan([SMALL], ["wl"]), Task("cell", SMALL, "wl", {"C": 0}, 0)
    trials: list[dict[str, Any]] = [
        {
            "status": "ok",
            "configuration": {"C": c},
            "val_accuracy": a,
            "val_loss": loss,
            "times": {"fit": 1.0},
        }
        for c, a, loss in ((1, 0.5, 0.1), (2, 0.7, 0.4), (3, 0.7, 0.3), (4, 0.7, 0.3))
    ]
    trials.append({"status": "failed", "reason": "no"})
    settled = plan.settle(task, trials)
    assert (settled.configuration, settled.options) == ({"C": 3}, {"selection_seconds": 4.0})
    assert plan.settle(task, trials[4:]) == task
    assert plan.settle(task, []) == task


def test_a_failure_is_tried_again_and_never_covers_a_success(tmp_path: Path) -> None:
    config = RunConfig(str(tmp_path), device="cpu")
    task = Task("cell", SMALL, "majority", {}, 0, space="x")
    store = Store(tmp_path)
    failed = run_task(compute_accuracy, replace(task, configuration={"unknown": 1}), config)
    assert failed["status"] == "failed"
    assert failed["reason"].startswith("TypeError")
    store.write(task, failed)
    assert store.finished(task, "f") is None
    fine = run_task(compute_accuracy, task, config)
    store.write(task, fine)
    store.write(task, failed)
    assert store.finished(task, fine["fingerprint"]) is not None
    assert store.finished(task, "another split") is None
    assert store.finished(replace(task, space="another"), fine["fingerprint"]) is None
    store.task_file(task).write_text("cut sho")
    assert store.finished(task, fine["fingerprint"]) is None


def test_workers_give_the_same_as_one_process(tmp_path: Path) -> None:
    methods = ["majority", "wl", "pl4xgl"]
    study(tmp_path / "one", methods)[0].run()
    study(tmp_path / "two", methods, n_workers=2)[0].run()
    for name, cell in cells(tmp_path / "one").items():
        other = cells(tmp_path / "two")[name]
        assert cell["predicted"] == other["predicted"]
        assert cell["metrics"] == other["metrics"]


def test_a_dying_worker_is_blamed_and_the_others_go_on(tmp_path: Path) -> None:
    config = RunConfig(str(tmp_path), device="cpu", n_workers=2)
    tasks = [Task("cell", SMALL, "majority", {}, seed) for seed in range(4)]
    results = {}
    # What dies is the process that runs a task with one of the seeds.
    with Pool(config, dying_task) as workers:
        for task in tasks:
            workers.add(task)
        while workers:
            results.update({task.seed: result for task, result in workers.collect(block=True)})
    assert {seed: result["status"] for seed, result in results.items()} == {
        0: "ok",
        1: "failed",
        2: "ok",
        3: "ok",
    }
    assert "died" in results[1]["reason"]


def dying_task(task: Task, config: RunConfig) -> dict[str, Any]:
    if task.seed == 1:
        os._exit(9)
    return {**task.to_json(), "status": "ok"}


def test_a_killed_study_goes_on(tmp_path: Path) -> None:
    call = [
        *(
            sys.executable,
            "-m",
            "repro",
            "accuracy",
            "--datasets",
            "synthetic:ba-2motifs:30:1",
        ),
        *("--methods", "majority,wl,gdlnn", "--out", str(tmp_path), "--jobs", "1", "--device", "cpu"),
    ]
    process = subprocess.Popen(call, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "cells").glob("*--gdlnn-v2--*.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "cells").glob("*.json")}
    assert before
    command(*call[3:])
    after = {file: file.stat().st_mtime_ns for file in (tmp_path / "cells").glob("*.json")}
    assert len(after) == 7
    assert all(after[file] == stamp for file, stamp in before.items())


@pytest.mark.parametrize("protocol", ["paper", "repeated", "cv"])
def test_protocols_cover_the_data_once(protocol: Any) -> None:
    data = make_ba_2motifs(n=50, seed=1)
    plans = plan_splits(protocol)
    assert sum(len(plan.seeds) for plan in plans) == (10 if protocol == "cv" else 5)
    tested: list[int] = []
    for plan in plans:
        split = make_split(data, protocol, plan)
        rows = np.concatenate([part.indices for part in split])
        assert sorted(rows.tolist()) == list(range(50))
        assert [len(part) for part in split] == [40, 5, 5]
        tested += split.test.indices.tolist()
    if protocol == "cv":
        assert sorted(tested) == list(range(50))


def test_splits_are_stored_and_refuse_other_data(tmp_path: Path) -> None:
    data, other = make_ba_2motifs(n=20, seed=1), make_ba_2motifs(n=20, seed=2)
    plan = plan_splits("repeated")[1]
    file = tmp_path / "split.json"
    first, mark = stored_split(data, "repeated", plan, file)
    again, same = stored_split(data, "repeated", plan, file)
    assert mark == same
    assert [part.indices.tolist() for part in first] == [part.indices.tolist() for part in again]
    assert again.test.split_source == "random, seed 12"
    assert data_fingerprint(data) != data_fingerprint(other)
    with pytest.raises(DatasetError, match=r"split\.json: expected the split of this dataset"):
        stored_split(other, "repeated", plan, file)
    with pytest.raises(GDLNNError, match="protocol: expected one of paper, repeated, cv, scaffold, got 'no'"):
        plan_splits("no")  # type: ignore[arg-type]
    assert PROTOCOLS == ("paper", "repeated", "cv", "scaffold")


@pytest.mark.parametrize("spec", [MiningSpec(), MiningSpec("1%", "sequential")])
def test_programs_are_kept_as_they_were(spec: MiningSpec, tmp_path: Path) -> None:
    data = make_ba_2motifs(n=20, seed=1)
    file = tmp_path / "programs.json.gz"
    mined = ensure_programs(data, spec, file, 1)
    read = load_programs(file)
    assert list(read) == list(mined)
    assert read.info == mined.info
    assert read.stats == mined.stats
    assert [path.name for path in tmp_path.iterdir()] == ["programs.json.gz"]
    assert ensure_programs(data, spec, file, 1) == read


@pytest.mark.parametrize("killed", [False, True])
def test_programs_that_another_run_mines_are_waited_for(
    killed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fcntl = pytest.importorskip("fcntl")
    data, file = make_ba_2motifs(n=20, seed=1), tmp_path / "programs.json.gz"
    mined = ensure_programs(data, MiningSpec(), tmp_path / "other.json.gz", 1)
    waits: list[float] = []
    with file.with_suffix(".ckpt").open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 3:
                if not killed:
                    save_programs(mined, file)
                held.close()

        monkeypatch.setattr("repro.inputs.time.sleep", wait)
        assert list(ensure_programs(data, MiningSpec(), file, 1)) == list(mined)
    assert len(waits) == 3
    assert caplog.text.count("another run is mining these programs; waiting for it") == 1
    assert file.is_file()


def test_configurations_of_a_grid() -> None:
    gin = METHODS["gin"]
    assert len(gin.configurations("quick")) == 1
    assert len(gin.configurations("paper")) == 96
    drawn = gin.configurations("paper", 12)
    assert len({config_key(configuration) for configuration in drawn}) == 12
    assert drawn == gin.configurations("paper", 12)
    assert len(METHODS["gdlnn-paper"].configurations("paper")) == 72
    for method in METHODS.values():
        for configuration in method.configurations("quick"):
            estimator = method.make(configuration, 3, "cpu", 1)
            assert estimator.get_params()["seed"] == 3


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "results.md"
    document.write_text(
        "# Ours\n<!-- accuracy-repeated:begin -->\nold\n<!-- accuracy-repeated:end -->\nend\n"
    )
    common = ["--datasets", SMALL, "--out", str(tmp_path / "out"), *QUICKLY]
    chosen = ["--methods", "majority,wl,wl-oa", "--protocol", "repeated", "--document", str(document)]
    command("accuracy", *common, *chosen)
    shown = capsys.readouterr()
    assert "| WL-OA |" in shown.out
    assert "[6/6]" in shown.err
    assert {file.name for file in (tmp_path / "out").glob("accuracy-*")} == {
        "accuracy-repeated.csv", "accuracy-repeated.md", "accuracy-repeated.svg",
    }  # fmt: skip
    text = document.read_text()
    assert text.startswith("# Ours\n")
    assert "old" not in text
    assert "| WL |" in text
    for arguments, message in (
        (["--methods", "magic"], "--methods: expected some of majority"),
        (["--methods", ","], "--methods: expected at least one name"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["accuracy", *common, *arguments])
        assert ended.value.code == 2
        assert message in capsys.readouterr().err


def test_ablation_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = {name: replace(method, fixed={"epochs": 3}) for name, method in VARIANTS.items()}
    monkeypatch.setattr(methods_module, "VARIANTS", short)
    common = ["--datasets", "synthetic:ba-2motifs:30:1", "--out", str(tmp_path), *QUICKLY]
    command("ablation", "--variants", "neighbourhoods,scorecard", *common)
    shown = capsys.readouterr().out
    assert "### Ablation: accuracy" in shown
    assert "### Ablation: log loss" in shown
    for title in ("| base: neighbourhoods and", "| neighbourhoods only |", "| scorecard |"):
        assert shown.count(title) == 2
    assert "| forest" not in shown
    assert "failed" not in shown
    assert len(cells(tmp_path)) == 6  # the base and two variants on two splits
    with pytest.raises(SystemExit) as ended:
        main(["ablation", "--variants", "magic", *common])
    assert ended.value.code == 2
    assert "--variants: expected some of base, neighbourhoods, mined" in capsys.readouterr().err


def test_every_variant_of_the_ablation_changes_one_thing() -> None:
    data = make_ba_2motifs(n=40, seed=1)
    base = VARIANTS[BASE].make({}, 0, "cpu", 1)
    default = methods_module.default_classifier(seed=0, n_jobs=1, progress=False, device="cpu")
    for part in ("head", "structure", "pooled", "calibrate", "decide", "activation"):
        assert repr(getattr(base, part)) == repr(getattr(default, part))
    sources = make_sources("auto", data)
    assert [one.get_params() for one in base.vocabulary] == [one.get_params() for one in sources]
    made = {repr(method.make(method.quick, 0, "cpu", 1)) for method in VARIANTS.values()}
    assert len(made) == len(VARIANTS)
    honest = VARIANTS[BASE].make({}, 0, "cpu", 1).fit(data)
    other = VARIANTS["ablation-all-columns"].make({"honest": False}, 0, "cpu", 1).fit(data)
    rows = np.arange(20)
    assert not honest._columns_without(rows, len(honest.programs_)).all()
    assert other._columns_without(rows, len(other.programs_)).all()


def test_variants_of_a_split_mine_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_ba_2motifs(n=24, seed=1)
    calls: list[Any] = []
    found = Mined.find

    def counted(*given: Any) -> Any:
        calls.append(given)
        return found(*given)

    monkeypatch.setattr(Mined, "find", counted)
    first = VARIANTS[BASE].make({}, 0, "cpu", 1).fit(data)
    again = VARIANTS["ablation-forest"].make({"head": "forest"}, 0, "cpu", 1).fit(data)
    assert len(calls) == 1
    assert list(first.programs_) == list(again.programs_)
    VARIANTS["ablation-intervals"].make({"nominal": "interval"}, 0, "cpu", 1).fit(data)
    assert len(calls) == 2


def test_a_page_may_show_the_summary_alone(tmp_path: Path) -> None:
    study(tmp_path / "out", ["majority", "wl"], n_runs=1)[0].run()
    page, full = tmp_path / "results.md", tmp_path / "all.md"
    page.write_text(
        "# A\n<!-- accuracy-paper-summary:begin -->\nNot run.\n<!-- accuracy-paper-summary:end -->\nz\n"
    )
    full.write_text("<!-- accuracy-paper:begin -->\n<!-- accuracy-paper:end -->\n")
    for document in (page, full):
        write_accuracy(Store(tmp_path / "out"), "paper", document)
    text = page.read_text()
    assert "Not run." not in text
    assert text.count("| WL |") == 1
    assert "2 cells, " in text  # when and with which versions
    assert "Not run under this protocol: MLP, GCN, " in text
    assert "### " not in text
    assert text.endswith("z\n")
    assert full.read_text().count("| WL |") > 3
    assert "### Cost" in full.read_text()


def test_documents_without_marks(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("nothing")
    with pytest.raises(GDLNNError, match=r"page\.md: expected the marks <!-- x:begin -->"):
        replace_part(file, "x", "text")


def test_a_folder_of_saved_data_sets_is_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_ba_2motifs(n=20, seed=4)
    data.save(tmp_path / "data" / "BA-2Motifs.gdlds")
    monkeypatch.delenv("GDLNN_DATA", raising=False)
    monkeypatch.setenv("GDLNN_CACHE", str(tmp_path / "cache"))
    command(
        *(
            "accuracy",
            "--datasets",
            "ba-2motifs",
            "--methods",
            "majority",
            "--out",
            str(tmp_path / "out"),
        ),
        *("--data", str(tmp_path / "data"), *QUICKLY),
    )
    (cell,) = cells(tmp_path / "out").values()
    assert (cell["dataset"], cell["status"], sum(cell["sizes"])) == ("BA-2Motifs", "ok", 20)
