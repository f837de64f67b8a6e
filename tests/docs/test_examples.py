"""The examples, scripts and notebooks, run and end with what they promise."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import gdlnn
from reference.tu_folders import write_tu

pytestmark = pytest.mark.usefixtures("small_heads")

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
LONGEST = 120
"""Seconds that a notebook may take, a load of other tests beside it included."""
# What the outputs of a notebook must say.
SAID = {
    "chemist": ["held-out molecules:", "held-out precision", "report.html"],
    "graph_engineer": ["fraud 100% of the graphs contain it", "payments.gdlnn", "kind person"],
    "researcher": ["scorecard", "sparsity"],
}


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_chemists_table_becomes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.html"
    example("chemist").main(report=report)
    page = report.read_text(encoding="utf-8")
    assert "My molecules" in page
    assert "<svg" in page.replace("\\u003c", "<")
    assert '"smarts":"[' in page.replace("\\u0026", "&")
    assert gdlnn.load_model(report.with_suffix(".gdlnn")).classes_.tolist() == ["no", "yes"]
    output = capsys.readouterr().out
    accuracy = float(output.split("held-out molecules: ")[1].split("%")[0])
    assert accuracy >= 80  # a program finds the groups that the label is made of


def test_a_researchers_folder_becomes_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tu(gdlnn.make_ba_2motifs(n=40), tmp_path / "mine")
    accuracies: list[Any] = example("researcher").main(tmp_path / "mine", 2)
    assert len(accuracies) == 2
    assert "over 2 folds" in capsys.readouterr().out


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebooks_have_no_output_in_git(file: Path) -> None:
    notebook = json.loads(file.read_text(encoding="utf-8"))
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert notebook["metadata"]["language_info"] == {"name": "python"}  # no version of somebody's own
    for cell in notebook["cells"]:
        assert not cell["metadata"]
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


@pytest.mark.long
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
@pytest.mark.filterwarnings("default")  # of the kernel and its sockets
def test_notebooks_run(file: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(file, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=LONGEST, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    outputs = json.dumps([cell.get("outputs", []) for cell in notebook.cells])
    for expected in SAID[file.stem]:
        assert expected in outputs, expected
