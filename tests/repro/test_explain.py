"""The studies of explanations, cost and motifs: cells, time limits, curves, tables, the command line."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gdlnn import load_dataset
from repro import cost, explain, explainers
from repro.__main__ import main
from repro.baselines.subgraphx import SubgraphX
from repro.cells import RunConfig, Study, read_cells
from repro.explainers import EXPLAINERS, SHOWN, run_explanations, sampled_rows
from repro.inputs import forget, load_split, mark_nitro_and_amino
from repro.methods import METHODS

SMALL = "synthetic:ba-2motifs:60:3"
ALL = list(EXPLAINERS)
COMPUTE = {"explain": explain.compute_scores, "cost": cost.compute_times}


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
            ("gdlnn", {"n_trees": 10}),
            ("gdlnn-paper", {"epochs": 3}),
        ):
            quick = {"epsilon": 0.1} if name == "gdlnn-paper" else {}
            patch.setitem(METHODS, name, replace(METHODS[name], fixed=fixed, quick=quick))
        patch.setattr(SubgraphX, "__init__", init)
        patch.setattr(explainers, "N_FEATURES", (5, 1000))
        patch.setattr(explainers, "SHARES", (0.2, 0.5, 0.8))
        yield
    forget()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with all explainers, which tests copy before they change it."""
    folder = tmp_path_factory.mktemp("study")
    assert {cell["status"] for cell in cells_of(folder, ALL)} == {"ok"}
    return folder


def cells_of(folder: Path, methods: list[str], kind: str = "explain", **options: Any) -> list[dict[str, Any]]:
    config = RunConfig(str(folder), device="cpu", limit=options.get("limit"))
    with Study(kind, config) as study:
        datasets, sample = options.get("datasets", [SMALL]), options.get("sample", 3)
        return run_explanations(study, datasets, methods, COMPUTE[kind], sample)


def test_every_explainer_leaves_cells_that_are_not_repeated(filled: Path) -> None:
    cells = read_cells(filled / "explain.jsonl")
    assert len(cells) == 8 + 3  # SubgraphX has a cell for every graph
    for cell in cells:
        assert cell["rows"] == [graph["row"] for graph in cell["graphs"]]
        for graph in cell["graphs"]:
            settings = EXPLAINERS[cell["method"]].settings
            assert [point["setting"] for point in graph["points"]] == list(settings)
            assert all(0 <= len(point["nodes"]) <= graph["n_nodes"] for point in graph["points"])
            assert 0 <= graph["points"][0]["truth"]["jaccard_at_size"] <= 1
        # Of a sweep over nodes only what is shown has programs.
        several = EXPLAINERS[cell["method"]].kind != "scores"
        points = [p for graph in cell["graphs"] for p in graph["points"] if several or p["setting"] == SHOWN]
        contributes = EXPLAINERS[cell["method"]].technique == "contribution"
        assert all(("n_supporting" in point) == contributes for point in points)
        # Single graphs may have none: reasons under half a percentage point are not listed.
        assert any(point.get("n_supporting") for point in points) == contributes
    before = (filled / "explain.jsonl").read_bytes()
    cells_of(filled, ALL)
    assert (filled / "explain.jsonl").read_bytes() == before


def test_points_are_those_counted_by_hand() -> None:
    def graph(row: int, truth: int, predicted: int, part: int, rest: int, n_nodes: int, **more: Any) -> Any:
        point = {"setting": 1, "nodes": list(range(n_nodes)), "predicted_part": part, "predicted_rest": rest,
                 "truth": more}  # fmt: skip
        return {"row": row, "truth": truth, "predicted": predicted, "n_nodes": 4, "points": [point]}

    cell: Any = {"dataset": "D", "method": "pl4xgl", "configuration": {}, "seed": 0, "fingerprint": "",
            "rows": [], "graphs": [graph(0, 1, 1, 1, 0, 2, jaccard=0.6), graph(1, 1, 1, 0, 1, 0),
                                   graph(2, 0, 1, 0, 1, 4, jaccard=0.9)]}  # fmt: skip
    point = explain.points_of([cell]).loc["D", "pl4xgl", 1]
    assert point["accuracy"] == pytest.approx(2 / 3)
    assert point["sparsity"] == pytest.approx((0.5 + 1 + 0) / 3)
    assert point["fidelity"] == pytest.approx((0 + 1 - 1) / 3)
    assert point["fidelity_plus"] == pytest.approx(1 / 3)
    assert point["fidelity_minus"] == pytest.approx(2 / 3)
    assert point["empty"] == pytest.approx(1 / 3)
    assert point["jaccard"] == pytest.approx(0.75)
    assert point["found"] == 1.0  # of the graphs that the model gets right
    assert point["median_share"] == 0.5
    assert np.isnan(point["has_reason"])
    fewer = {**cell, "method": "subgraphx", "graphs": cell["graphs"][1:]}
    assert explain.points_of([cell, fewer])["n_graphs"].tolist() == [2, 2]  # those that both explained


def test_graphs_that_run_out_of_time_are_counted(
    tmp_path: Path, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    (tmp_path / "explain.jsonl").unlink()  # the model stays
    real = SubgraphX.search
    split, _ = load_split(SMALL, "paper", "paper", None)
    slow_name = split.test.graphs[sampled_rows(6, 3, 0)[1]].name

    def slow(self: Any, graph: Any) -> Any:
        time.sleep(3 if graph.name == slow_name else 0)
        return real(self, graph)

    monkeypatch.setattr(SubgraphX, "search", slow)
    cells = cells_of(tmp_path, ["subgraphx"], limit=1.5)
    assert sorted(cell["status"] for cell in cells) == ["late", "ok", "ok"]
    assert "2 of 6 (sample), 1 not finished" in explain.write_explain(tmp_path, cells)
    slow_name = ""
    assert {cell["status"] for cell in cells_of(tmp_path, ["subgraphx"], limit=60)} == {"ok"}


def curve(*pairs: tuple[float, float]) -> pd.DataFrame:
    index = range(1, len(pairs) + 1)
    return pd.DataFrame(pairs, index, ["sparsity", "fidelity"]).assign(fidelity_masked=np.nan)


def test_sparsity_at_equal_fidelity() -> None:
    ours = curve((0.9, 0.3), (0.5, 0.1), (0.2, -0.05))
    # Between settings the curve is straight.
    assert explain.sparsity_at(ours, -0.05) == pytest.approx(0.2)
    assert explain.sparsity_at(ours, 0.0) == pytest.approx(0.2 + 0.3 * 0.05 / 0.15)
    assert explain.sparsity_at(ours, 0.1) == pytest.approx(0.5)
    assert explain.sparsity_at(ours, 0.2) == pytest.approx(0.7)
    assert explain.sparsity_at(ours, 5) == pytest.approx(0.9)
    # Settings that are no neighbors are not mixed; the whole graph is the end of the curve.
    assert explain.sparsity_at(curve((0.9, 0.2), (0.5, 1.0)), 0.1) == pytest.approx(0.05)
    behind = curve((0.4, 0.3), (0.1, 0.0))
    words = explain.verdict({("D", "gdlnn"): ours, ("D", "subgraphx"): behind}, "gdlnn", False)
    assert "ahead on 1 of 1. Ahead at every fidelity: D" in words
    words = explain.verdict({("D", "gdlnn"): behind, ("D", "subgraphx"): ours}, "gdlnn", True)
    assert "ahead on 0 of 1. Not ahead: D" in words


def test_the_commands_write_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    ):
        with pytest.raises(SystemExit) as ended:
            main(["explain", "--out", out, *wrong])
        assert ended.value.code == 2
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["explain", "--datasets", "nothing/there.csv", "--jobs", "1", "--out", out])
    assert ended.value.code == 1
    assert "9 cell(s) failed" in capsys.readouterr().err


def test_motifs_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    better = {"n_layers": 2, "epochs": 40, "hidden": 16}
    monkeypatch.setitem(METHODS, "gin", replace(METHODS["gin"], fixed=better))
    for is_computed in (True, False):
        with pytest.raises(SystemExit):
            main(["motifs", "--graphs", "100", "--sample", "0", "--jobs", "1", "--out", str(tmp_path)])
        assert ("[1/" in capsys.readouterr().err) == is_computed
        assert (tmp_path / "motifs.svg").read_text().count("Jaccard with the motif") == 6


@pytest.mark.data
def test_ground_truth_of_mutagenicity_follows_from_the_graphs(data_dir: Path) -> None:
    dataset = load_dataset("Mutagenicity", data_dir, download=False)[:800]
    published = dataset.edge_masks
    assert published is not None
    assert sum(int(mask.sum()) for mask in published if mask is not None) > 500
    dataset.edge_masks = dataset.node_masks = None
    mark_nitro_and_amino(dataset)
    assert dataset.edge_masks is not None
    for expected, got in zip(published, dataset.edge_masks, strict=True):
        assert np.array_equal(expected, got)
