"""The studies of explanations and of cost: cells, resuming, time limits, curves, tables, the command line."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from repro import EXPLAINERS, METHODS, ExplanationPlan, MotifStudy, RunConfig, Store, Study, Task
from repro import methods as methods_module
from repro.__main__ import main
from repro.baselines import SubgraphX
from repro.cost import costs_of, write_cost
from repro.curves import Curve, Point, curves_of, explain_report, write_explain
from repro.explanations import chosen_configuration, sampled_rows
from repro.inputs import forget, load_split
from repro.pool import OutOfTimeError, time_limit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SMALL = "synthetic:ba-2motifs:60:3"
ALL = list(EXPLAINERS)
PUBLISHED = dict(METHODS)


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    """Small models and few walks: these tests are about the study, not about how good anything is."""
    forget()
    few = {"n_rollouts": 2, "n_samples": 5, "n_children": 4}
    real = SubgraphX.__init__

    def init(self: Any, model: Any, **given: Any) -> None:
        real(self, model, **{**few, **given})

    with pytest.MonkeyPatch.context() as patch:
        for name, fixed in (
            ("gin", {"n_layers": 2, "epochs": 3, "hidden": 8}),
            ("gdlnn", {"epochs": 3}),
            ("gdlnn-v1", {"epochs": 3}),
            ("gdlnn-paper", {"epochs": 3}),
        ):
            patch.setitem(METHODS, name, replace(METHODS[name], fixed=fixed, quick={}))
        patch.setattr(SubgraphX, "__init__", init)
        patch.setattr(methods_module, "N_FEATURES", (5, 1000))
        patch.setattr(methods_module, "SHARES", (0.2, 0.5, 0.8))
        yield
    forget()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with all explainers, which tests copy before they change it."""
    folder = tmp_path_factory.mktemp("study")
    failed, said = study(folder, ALL)
    assert failed == 0
    assert said[-1].startswith(f"{len(ALL) + 2}/{len(ALL) + 2} ")  # and two graph networks
    return folder


def study(folder: Path, methods: list[str], step: Any = "explain", **options: Any) -> tuple[int, list[str]]:
    said: list[str] = []
    given = {"sample": 3, **{k: v for k, v in options.items() if k in ("sample", "seed", "datasets")}}
    plan = ExplanationPlan(step, given.pop("datasets", [SMALL]), methods, **given)
    config = RunConfig(
        str(folder), device="cpu", limit=options.get("limit"), programs=options.get("programs")
    )
    failed = Study(plan, config, lambda d, t, says: said.append(f"{d}/{t} {says}")).run()
    return failed, said


def stamps(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}


def test_every_explainer_leaves_cells_that_are_not_repeated(tmp_path: Path, filled: Path) -> None:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    cells = list(Store(tmp_path).cells("explain"))
    assert len(cells) == 10 + 3  # SubgraphX has a cell for every graph
    assert all(cell["status"] == "ok" for cell in cells)
    assert {"python", "gdlnn", "torch"} <= set(cells[0]["versions"])
    for cell in cells:
        for graph in cell["graphs"]:
            settings = EXPLAINERS[cell["method"]].settings
            assert [point["setting"] for point in graph["points"]] == list(settings)
            assert all(0 <= point["n_nodes"] <= graph["n_nodes"] for point in graph["points"])
            assert graph["points"][0]["truth"] is not None
            assert 0 <= graph["points"][0]["truth"]["jaccard_at_size"] <= 1
            listed = [p.get("n_supporting", 0) + p.get("n_opposing", 0) for p in graph["points"]]
            contributes = EXPLAINERS[cell["method"]].technique == "contribution"
            assert any(listed) == contributes
    before = stamps(tmp_path)
    assert study(tmp_path, ALL) == (0, [])
    assert stamps(tmp_path) == before
    # What one explainer lost is made again, and nothing else.
    next((tmp_path / "explain-cells").glob("*pl4xgl*")).unlink()
    _, said = study(tmp_path, ALL)
    assert [line.split(" ", 2)[2] for line in said] == ["pl4xgl: 3 explained, 0.0 s"]


def test_tables_tell_what_cells_say(tmp_path: Path, filled: Path) -> None:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    document = tmp_path / "page.md"
    document.write_text("# Page\n<!-- explain:begin -->\nold\n<!-- explain:end -->\n")
    text = write_explain(Store(tmp_path), document)
    for part in (
        "Sparsity at equal fidelity",
        "Agreement with the truth",
        "at the truth's size",
        "with a reason",
        "GIN + SubgraphX",
        "3 of 6 (sample)",
    ):
        assert part in text
    assert "old" not in document.read_text()
    assert "pictures/study-explain.svg" in document.read_text()
    assert (tmp_path / "pictures" / "study-explain.svg").read_text() == (tmp_path / "explain.svg").read_text()
    curves = curves_of(Store(tmp_path).cells("explain"))
    curve = curves[SMALL, "subgraphx"]
    sizes = [point.sparsity for point in curve.points]
    assert sizes == sorted(sizes, reverse=True)
    assert len((tmp_path / "explain.csv").read_text().splitlines()) == 1 + sum(
        len(curve.points) for curve in curves.values()
    )
    # The same cells give the same bytes.
    before = (tmp_path / "explain.svg").read_bytes()
    write_explain(Store(tmp_path))
    assert (tmp_path / "explain.svg").read_bytes() == before


def test_cost_adds_up(tmp_path: Path, filled: Path) -> None:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    methods = ["gdlnn-paper", "pl4xgl", "subgraphx"]
    failed, _ = study(tmp_path, methods, "cost", sample=2)
    assert failed == 0
    store = Store(tmp_path)
    costs = costs_of(store.cells("cost"), store.cells("network"), {(SMALL, "gdlnn-paper"): 12.5})
    ours, rival = costs[SMALL, "gdlnn-paper"], costs[SMALL, "subgraphx"]
    assert ours.tuning == 12.5
    assert ours.mining_cpu > 0
    assert rival.mining_cpu == 0
    assert rival.fit is not None
    assert rival.fit > 0
    assert (ours.n_graphs, rival.n_graphs, rival.n_test) == (2, 2, 6)
    assert ours.total(10) - ours.total(0) == pytest.approx(10 * (ours.predict_cpu + ours.explain_cpu))  # type: ignore[operator]
    text = write_cost(store)
    assert "Cost of an explanation" in text
    assert " ×)" in text
    assert (tmp_path / "cost.svg").read_text().startswith("<?xml")
    assert study(tmp_path, methods, "cost", sample=2) == (0, [])


def test_a_cell_that_runs_out_of_time_says_so_and_is_tried_with_more(
    tmp_path: Path, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "explain-cells")  # the network stays
    real = SubgraphX.search
    rows = sampled_rows(6, 3, 0)

    def slow(self: Any, graph: Any, target: Any = None) -> Any:
        time.sleep(3 if graph.name == slow_name else 0)
        return real(self, graph, target)

    split, _ = load_split(SMALL, "paper", "paper", RunConfig(str(tmp_path), device="cpu"))
    names = [split.test.graphs[row].name for row in rows]
    slow_name = names[1]
    assert len(set(names)) == 3
    monkeypatch.setattr(SubgraphX, "search", slow)
    failed, said = study(tmp_path, ["subgraphx"], limit=1.5)
    assert failed == 0
    assert sum("not finished in 1.5 s" in line for line in said) == 1
    curve = curves_of(Store(tmp_path).cells("explain"))[SMALL, "subgraphx"]
    assert (curve.n_graphs, curve.n_late) == (2, 1)
    assert "1 not finished" in explain_report({(SMALL, "subgraphx"): curve})
    assert study(tmp_path, ["subgraphx"], limit=1.5) == (0, [])
    slow_name = ""
    _, said = study(tmp_path, ["subgraphx"], limit=60)
    assert len(said) == 1
    assert curves_of(Store(tmp_path).cells("explain"))[SMALL, "subgraphx"].n_late == 0


def test_the_time_limit_leaves_no_alarm_behind() -> None:
    with pytest.raises(OutOfTimeError), time_limit(0.05):
        time.sleep(5)
    with time_limit(0.05):
        pass
    time.sleep(0.1)


def test_programs_and_configurations_come_from_an_accuracy_study(tmp_path: Path, filled: Path) -> None:
    failed, said = study(tmp_path / "out", ["gdlnn-paper"], sample=1, programs=str(filled))
    assert failed == 0
    assert not any("mining" in line for line in said)
    assert not (tmp_path / "out" / "programs").exists()

    class Accuracy:
        def cells(self, kind: str, protocol: str) -> list[dict[str, Any]]:
            base = {"dataset": SMALL, "method": "gin", "status": "ok", "fingerprint": "f", "seed": 0}
            return [
                {**base, "n_configurations": 1, "configuration": {"hidden": 1}},
                {**base, "n_configurations": 8, "configuration": {"hidden": 2}, "selection_seconds": 4.0},
                {**base, "n_configurations": 9, "configuration": {"hidden": 3}, "fingerprint": "other"},
            ]

    found: Any = chosen_configuration(Accuracy(), SMALL, METHODS["gin"], "f")  # type: ignore[arg-type]
    assert found == ({"hidden": 2}, 4.0)


def test_failures_leave_their_reason(tmp_path: Path) -> None:
    failed, _ = study(tmp_path, ["pl4xgl"], datasets=["nothing/there.csv", SMALL])
    assert failed == 1
    text = write_explain(Store(tmp_path))
    assert "What could not be run" in text
    assert "there.csv" in text
    store, task = Store(tmp_path), Task("explain", SMALL, "pl4xgl", {}, 0, rows=(1,))
    store.write(task, {**task.to_json(), "status": "ok", "fingerprint": "f"})
    store.write(task, {**task.to_json(), "status": "failed", "reason": "no"})
    assert store.finished(task, "f", None) is not None
    assert store.finished(task, "g", None) is None


def test_samples_are_seeded() -> None:
    assert sampled_rows(100, 30, 0) == sampled_rows(100, 30, 0) != sampled_rows(100, 30, 1)
    assert len(set(sampled_rows(100, 30, 0))) == 30
    assert sampled_rows(20, 30, 0) == sampled_rows(20, None, 5) == tuple(range(20))


def points(*pairs: tuple[float, float]) -> tuple[Point, ...]:
    return tuple(Point(i, s, f, 0, 0, 0) for i, (s, f) in enumerate(pairs))


def test_sparsity_at_equal_fidelity() -> None:
    curve = Curve("D", "gdlnn", points((0.9, 0.3), (0.5, 0.1), (0.2, -0.05)), 10, 10, 0, 1.0)
    # Between settings the curve is straight.
    assert curve.sparsity_at(-0.05) == pytest.approx(0.2)
    assert curve.sparsity_at(0.0) == pytest.approx(0.2 + 0.3 * 0.05 / 0.15)
    assert curve.sparsity_at(0.1) == pytest.approx(0.5)
    assert curve.sparsity_at(0.2) == pytest.approx(0.7)
    assert curve.sparsity_at(5) == pytest.approx(0.9)
    # Settings that are no neighbours are not mixed; the whole graph is the end of the curve.
    apart = Curve("D", "gdlnn", points((0.9, 0.2), (0.5, 1.0)), 10, 10, 0, 1.0)
    assert apart.sparsity_at(0.1) == pytest.approx(0.05)
    assert Curve("D", "gdlnn", (), 0, 10, 0, None).sparsity_at(0.5) == 0.0
    behind = Curve("D", "subgraphx", points((0.4, 0.3), (0.1, 0.0)), 10, 10, 0, 1.0)
    said = explain_report({("D", "gdlnn"): curve, ("D", "subgraphx"): behind})
    assert "ahead on 1 of 1. Ahead at every fidelity: D" in said
    turned = {
        ("D", "gdlnn"): replace(behind, method="gdlnn"),
        ("D", "subgraphx"): replace(curve, method="subgraphx"),
    }
    assert "ahead on 0 of 1. Not ahead: D" in explain_report(turned)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "results")
    for name in ("explain", "cost"):
        with pytest.raises(SystemExit) as ended:
            main([name, *f"--datasets {SMALL} --methods pl4xgl --sample 2 --jobs 1".split(),
                  "--out", out])  # fmt: skip
        assert ended.value.code == 0
        assert (tmp_path / "results" / f"{name}.csv").is_file()
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["explain", "--tables-only", "--out", out])
    assert "PL4XGL" in capsys.readouterr().out
    for wrong, message in (
        (["--methods", "magic"], "--methods: expected some of gdlnn, gdlnn-smallest, gdlnn-lime, "),
        (["--datasets", ","], "--datasets: expected at least one name"),
        (["--programs", str(tmp_path / "none")], "--programs: expected the folder of an accuracy study"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["explain", "--out", out, *wrong])
        assert ended.value.code == 2
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["cost", "--limit", "-1"])
    assert ended.value.code == 2
    with pytest.raises(SystemExit) as ended:
        main(["explain", "--datasets", "nothing/there.csv", "--jobs", "1", "--out", out])
    assert ended.value.code == 1
    assert "11 cell(s) failed" in capsys.readouterr().err


def test_the_figure_of_motifs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, method in PUBLISHED.items():  # models that get some graphs right
        monkeypatch.setitem(METHODS, name, method)
    said: list[str] = []
    config = RunConfig(str(tmp_path), device="cpu")
    study = MotifStudy(60, 0, config, lambda done, total, says: said.append(says))
    picture = study.figure()
    assert picture.startswith("<svg")
    for words in ("cycle: GDLNN", "house: GIN + SubgraphX", "house: PL4XGL", "Jaccard with the motif"):
        assert words in picture
    assert said[0] == "mining synthetic:ba-2motifs:60:0, ε = 0.1, greedy"
    lines = study.counts().splitlines()
    assert [line.split(" | ")[:3] for line in lines[2:4]] == [
        ["| cycle", "GDLNN", "1"],
        ["| cycle", "GIN + SubgraphX", "1"],
    ]
    assert len(lines) == 2 + 6
    said.clear()
    again = MotifStudy(60, 0, config, lambda done, total, says: said.append(says))
    assert (again.figure(), said) == (picture, [])


def test_cells_are_plain_json(filled: Path) -> None:
    (file,) = (filled / "explain-cells").glob("*--pl4xgl--*.json")
    cell = json.loads(file.read_text())
    assert cell["rows"] == list(sampled_rows(6, 3, 0))
    assert [graph["row"] for graph in cell["graphs"]] == cell["rows"]
    assert (cell["step"], ExplanationPlan("explain", [], []).protocol) == ("explain", "paper")
