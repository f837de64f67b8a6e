"""The public face: exactly the names that are meant, loaded late, and nothing heavy on import."""

import subprocess
import sys

import pytest

import gdlnn

NAMES = """
    Explanation Feature GDLNNClassifier GDLNNError GDLNNRegressor GDLTransformer Graph GraphDataset MLPHead
    Mined Neighborhoods Program ProgramSet Schema ScorecardHead __version__ counterfactual explain_model
    load_dataset load_jsonl load_model load_sdf load_smiles load_tu make_ba_2motifs mine
"""
MEANT = set(NAMES.split())


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_exports_are_exactly_what_is_meant() -> None:
    assert set(gdlnn.__all__) == MEANT
    assert dir(gdlnn) == sorted(gdlnn.__all__)


@pytest.mark.parametrize("name", sorted(MEANT))
def test_every_name_loads_from_its_home(name: str) -> None:
    assert getattr(gdlnn, name) is not None


HEAVY = ("torch", "sklearn", "captum", "lark", "rdkit", "scipy", "networkx", "pandas", "matplotlib")


@pytest.mark.parametrize(
    "statement",
    [
        "import gdlnn",
        "import gdlnn; gdlnn.Program; gdlnn.Graph",
        "import gdlnn.gdl, gdlnn.graphs, gdlnn.errors",
    ],
)
def test_importing_loads_nothing_heavy(statement: str) -> None:
    code = f"import sys; {statement}; print(*sorted(m for m in {HEAVY} if m in sys.modules))"
    assert run(code) == ""
