"""The examples run, and end with what they promise."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gdlnn
from gdlnn.datasets.tu import save_tu

if TYPE_CHECKING:
    from types import ModuleType

EXAMPLES = Path(__file__).parent.parent / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_chemists_table_becomes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit")
    report = tmp_path / "report.html"
    example("chemist").main(report=report)
    page = report.read_text(encoding="utf-8")
    assert "My molecules" in page
    assert '"kind":"molecule"' in page
    assert '"smarts":"[' in page.replace("\\u0026", "&")
    assert gdlnn.load_model(report.with_suffix(".gdlnn")).classes_.tolist() == ["no", "yes"]
    said = capsys.readouterr().out
    accuracy = float(said.split("held-out molecules: ")[1].split("%")[0])
    assert accuracy >= 80  # a program finds the groups that the label is made of


def test_a_researchers_folder_becomes_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_tu(gdlnn.make_ba_2motifs(n=40), tmp_path / "mine")
    accuracies: list[Any] = example("researcher").main(tmp_path / "mine", 2)
    assert len(accuracies) == 2
    assert "over 2 folds" in capsys.readouterr().out
