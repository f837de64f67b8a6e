"""Small model files for the tests of the server and the docs: molecules of a table, and motifs."""

from pathlib import Path
from typing import Any

from gdlnn import GraphDataset, load_smiles
from reference.models import classifier
from reference.report_models import SMALL, motifs

MOLECULES = Path(__file__).parent.parent.parent / "examples" / "molecules.csv"


def molecules_file(folder: Path) -> tuple[Path, GraphDataset]:
    """Write a model of `examples/molecules.csv`; return its path and all molecules."""
    data = load_smiles(MOLECULES, label="active", id="id")
    path = folder / "molecules.gdlnn"
    classifier(**SMALL | {"epochs": 60}).fit(data).save(path)
    return path, data


def motifs_file(folder: Path) -> tuple[Path, GraphDataset]:
    """Write a model of BA-2Motifs; return its path and graphs it was not trained on."""
    model, test = motifs()
    path = folder / "motifs.gdlnn"
    model.save(path)
    return path, test


def check_answer(client: Any, name: str, answer: Any) -> None:
    """Check an answer against its schema in the OpenAPI document."""
    import jsonschema  # type: ignore[import-untyped]

    components = client.get("/openapi.json").json()["components"]
    schema = {"$ref": f"#/components/schemas/{name}Answer", "components": components}
    jsonschema.validate(answer, schema)
