"""Intervals, tests of significance, metrics, tables and the figure."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from gdlnn.model.scores import classification_scores
from repro.accuracy_tables import (
    comparison,
    difference_table,
    metric_table,
    rank_words,
    write_ablation,
    write_accuracy,
)
from repro.statistics import (
    compare,
    corrected_interval,
    corrected_t_test,
    frame_of,
    holm,
    summary_of,
    t_interval,
)
from repro.tables import command_line


def cell(
    method: str, right: list[int], split: str = "paper", seed: int = 0, dataset: str = "MUTAG", **changes: Any
) -> dict[str, Any]:
    accuracy = float(np.mean(right))
    return {
        "dataset": dataset, "protocol": "paper", "split": split, "method": method,
        "n_configurations": 1, "configuration": {}, "seed": seed, "status": "ok", "fingerprint": split,
        "sizes": [80, 10, len(right)], "truth": [1] * len(right), "predicted": right,
        "times": {"fit": 1.0, "fit_cpu": 1.0, "predict": 0.1, "mining_cpu": 0.0},
        "metrics": {"accuracy": accuracy, "balanced_accuracy": accuracy, "roc_auc": None, "mcc": 0.5},
        "machine": {"processor": "x", "cpus": 2, "gpu": None}, "finished": "2026-01-01",
        "versions": {"gdlnn": "1"}, **changes,
    }  # fmt: skip


def test_intervals_of_means_are_those_of_scipy() -> None:
    values = [0.8, 0.9, 1.0, 0.7, 0.85]
    low, high = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert t_interval(values) == pytest.approx((high - low) / 2)
    assert t_interval([1.0]) is None


def test_corrected_t_test_is_more_careful_than_the_plain_one() -> None:
    differences = [0.02, 0.03, 0.01, 0.025, 0.015]
    plain = stats.ttest_1samp(differences, 0).pvalue
    assert corrected_t_test(differences, 10**9, 1) == pytest.approx(plain, rel=1e-6)
    careful = corrected_t_test(differences, 80, 10)
    assert careful is not None
    assert careful > plain
    # The formula of Nadeau and Bengio, written out.
    statistic = np.mean(differences) / np.sqrt((1 / 5 + 10 / 80) * np.var(differences, ddof=1))
    assert careful == pytest.approx(2 * stats.t.sf(statistic, 4))
    assert corrected_t_test([0.1], 80, 10) is None
    assert corrected_t_test([0.0, 0.0], 80, 10) == 1.0
    assert corrected_t_test([0.1, 0.1], 80, 10) == 0.0


def test_holm_adjusts_p_values() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_metrics_where_they_are_not_defined() -> None:
    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    found = classification_scores(np.array([0, 0]), proba, np.array([0, 1]), np.array([0, 1]))
    assert found == {"n": 2, "accuracy": 0.5, "balanced_accuracy": 0.5, "roc_auc": None, "mcc": None}
    unseen = classification_scores(np.array(["a", "c"]), proba, np.array(["a", "b"]), np.array(["a", "b"]))
    assert unseen["accuracy"] == 0.5
    # That all predictions are the same leaves no metric undefined.
    same = classification_scores(np.array([0, 1]), proba[:1].repeat(2, axis=0), np.array([0, 1]))
    assert same == {"n": 2, "accuracy": 0.5, "balanced_accuracy": 0.5, "roc_auc": 0.5, "mcc": 0.0}
    # With a single class there is nothing to rank.
    alone = classification_scores(np.array([3, 3]), np.ones((2, 1)), np.array([3]))
    assert alone == {"n": 2, "accuracy": 1.0, "balanced_accuracy": 1.0, "roc_auc": None, "mcc": None}


def test_a_method_has_a_row_for_each_number_of_configurations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["repro", "accuracy", "--protocol", "paper", "--jobs", "2"])
    cells = [
        cell("gin", [1, 0]),
        *(cell("gin", [1, 1 - s], seed=s, n_configurations=12) for s in (0, 1)),
    ]
    cells.append({**cell("gcn", [1]), "status": "failed", "reason": "ModuleNotFoundError: no PyG"})
    text = write_accuracy(tmp_path, cells, "paper")
    assert text.index("| GIN | 50.0 |") < text.index("| GIN (12 configurations) | **75.0 ± ")
    assert "- GCN on MUTAG: ModuleNotFoundError: no PyG" in text
    assert "*GIN in the paper* | 94.0 ± 5.1" in text
    lines = (tmp_path / "accuracy-paper.csv").read_text().splitlines()
    assert lines[0] == "# python -m repro accuracy --protocol paper"
    assert [line.split(",")[:4] for line in lines[1:]] == [
        ["dataset", "row", "cells", "accuracy"],
        ["MUTAG", "gin", "1", "0.5"],
        ["MUTAG", "gin:12", "2", "0.75"],
    ]


def test_a_command_is_written_without_what_only_concerns_this_machine() -> None:
    words = ["accuracy", "--jobs", "2", "--out", "here", "--protocol", "repeated"]
    words += ["--data", "there", "--tables-only"]
    assert command_line(words) == "python -m repro accuracy --protocol repeated"


def test_a_summary_has_means_and_intervals() -> None:
    table = summary_of(frame_of([cell("gin", [1, i], split=f"random-{i}") for i in (0, 1)]))
    assert table["accuracy"].tolist() == [0.75]
    assert table["accuracy_half"].tolist() == pytest.approx([t_interval([0.5, 1.0])])
    assert table["fit_s"].tolist() == [1.0]


def test_comparison_pairs_what_ran_on_the_same_graphs() -> None:
    splits = [f"random-{i}" for i in range(5)]
    cells = [cell("gdlnn", [1, 1, i % 2], split=name) for i, name in enumerate(splits)]
    cells += [cell("gin", [0, 1, 0], split=name) for name in splits[1:]]
    cells += [cell("wl", [0, 0, 0], split=name, fingerprint="of other data") for name in splits]
    cells += [cell("gcn", [0, 0, 0], split=splits[0])]
    found = compare(frame_of(cells), "gdlnn", ["gin", "wl", "gdlnn", "gcn", "mlp"])
    assert found.index.tolist() == [("MUTAG", "gin")]  # one split is not enough, and other graphs are no pair
    differences = [(2 + i % 2) / 3 - 1 / 3 for i in range(1, 5)]
    assert found["difference"].tolist() == pytest.approx([np.mean(differences)])
    assert found["p"].tolist() == pytest.approx([corrected_t_test(differences, 80, 3)])
    assert len(compare(frame_of(cells), "wl-oa", ["gin"])) == 0


def test_p_values_are_corrected_within_a_dataset() -> None:
    cells = [
        cell(method, [1, i % 2, 0, method == "gdlnn"], split=f"random-{i}", dataset=dataset)
        for dataset, methods in (("MUTAG", ("gdlnn", "gin", "wl-oa")), ("BBBP", ("gdlnn", "gin")))
        for method in methods
        for i in range(3 + (method == "gin"))
    ]
    for one in cells:
        one["metrics"]["accuracy"] += 0.01 * int(one["split"][-1]) * (one["method"] == "gdlnn")
    found = compare(frame_of(cells), "gdlnn", ["gin", "wl-oa"])
    factors = (found["corrected"] / found["p"]).to_dict()
    assert factors == pytest.approx({("MUTAG", "gin"): 2, ("MUTAG", "wl-oa"): 2, ("BBBP", "gin"): 1})


def test_rivals_are_named_in_advance_and_tuned_where_they_were(tmp_path: Path) -> None:
    several: list[dict[str, Any]] = [
        *({"method": name} for name in ("gdlnn", "gin", "wl", "wl-oa")),
        {"method": "gdlnn", "version": "0.2.0"},
        {"method": "gin", "n_configurations": 6},
    ]
    cells = [cell(right=[1, 1, 0], split=f"random-{i}", **one) for one in several for i in range(2)]
    frame = frame_of(cells)
    _, table = comparison(frame)
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == [
        *("| GDLNN", "| WL-OA − GDLNN", "| GIN (6 configurations) − GDLNN")
    ]
    assert "| GDLNN (version 0.2) | **66.7 ± 0.0** |" in metric_table(frame, "accuracy")
    cells[0] |= {"metrics": {**cells[0]["metrics"], "accuracy": 1.0}}
    write_accuracy(tmp_path, cells, "paper")
    numbers = pd.read_csv(tmp_path / "accuracy-paper.csv", comment="#").set_index("row")
    found = numbers["accuracy_minus_gdlnn"].dropna().to_dict()
    assert found == pytest.approx({"wl-oa": -1 / 6, "gin:6": -1 / 6}, abs=1e-5)
    half = corrected_interval([1 / 3, 0], 80, 3)
    assert numbers.loc["wl-oa", "accuracy_minus_gdlnn_half"] == pytest.approx(half, abs=1e-4)


def test_a_study_whose_cells_all_failed_says_why(tmp_path: Path) -> None:
    lost = {"status": "failed", "reason": "DataError: no such folder"}
    cells = [{**cell(name, [1]), **lost} for name in ("gdlnn", "wl-oa")]
    cells = [
        {name: value for name, value in one.items() if name not in ("sizes", "metrics")} for one in cells
    ]
    text = write_accuracy(tmp_path, cells, "paper")
    assert "- GDLNN on MUTAG: DataError: no such folder" in text


def test_other_heads_and_an_earlier_version_have_no_rank() -> None:
    names = ("wl", "gdlnn", "gdlnn-linear")
    cells = [cell(name, [1, name == "gdlnn"]) for name in names]
    cells.append(cell("gdlnn", [1, 1], version="0.2.0"))
    words = "Mean ranks over the splits that all of these have: GDLNN 1.0, WL 2.0."
    assert rank_words(frame_of(cells)) == words


def test_ablation_shows_what_a_change_brings(tmp_path: Path) -> None:
    splits = [f"random-{i}" for i in range(3)]
    cells = [cell("gdlnn", [1, 0, 0, 0], split=name) for name in splits]
    cells += [cell("ablation-no-linear", [1, 1, 0, 0], split=name) for name in splits]
    others = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]
    cells += [
        cell("ablation-no-coarse", right, split=name) for name, right in zip(splits, others, strict=True)
    ]
    variants = ["ablation-no-coarse", "ablation-no-linear"]
    table = difference_table(frame_of(cells), "gdlnn", variants, "accuracy")
    assert "| without the linear model | +25.0 ± 0.0\\* | +25.0 |" in table
    other = [cell("gdlnn", [1], dataset="BBBP"), cell("gdlnn", [1], version="0.2.0"), cell("wl", [1])]
    assert table in write_ablation(tmp_path, [*cells, *other], "paper")
    # The t-interval of 0, 25, -25 widened for training sets that overlap.
    half = stats.t.ppf(0.975, 2) * 25 * np.sqrt(1 / 3 + 4 / 80)
    assert f"| without the coarse level | +0.0 ± {half:.1f} | +0.0 |" in table
