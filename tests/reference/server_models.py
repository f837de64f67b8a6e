"""Small model files for the tests of the server and the docs: molecules of a table, and motifs."""

import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gdlnn import GDLNNClassifier, GraphDataset, load_smiles
from gdlnn.server import make_app, workers
from gdlnn.server.limits import Limits
from reference.report_models import motifs

MOLECULES = Path(__file__).parent.parent.parent / "examples" / "molecules.csv"


def molecules_file(folder: Path) -> tuple[Path, GraphDataset]:
    """Write a model of `examples/molecules.csv`; return its path and all molecules."""
    data = load_smiles(MOLECULES, label="active", id="id")
    path = folder / "molecules.gdlnn"
    GDLNNClassifier(head="linear", verbose=False).fit(data).save(path)
    return path, data


def motifs_file(folder: Path) -> tuple[Path, GraphDataset]:
    """Write a model of BA-2Motifs; return its path and graphs it was not trained on."""
    model, test = motifs()
    path = folder / "motifs.gdlnn"
    model.save(path)
    return path, test


class WorkerHere:
    """A worker without a process: it answers here, so that no test waits for one to start."""

    active = True

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings, self.pool, self.is_ready = settings, self, True

    async def start(self) -> bytes:
        with pytest.MonkeyPatch.context() as patch:  # what a process sets for itself
            patch.setattr(resource, "setrlimit", lambda *_: None)
            patch.setattr(workers, "threadpool_limits", lambda _: None)
            patch.setattr(tempfile, "tempdir", tempfile.tempdir)
            described = workers.load(self.settings, tempfile.gettempdir())
        self.answers = workers._answers
        return described

    async def run(self, _seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        workers._answers = self.answers
        return function(*arguments)

    def stop(self) -> None:
        self.active = False

    async def end(self) -> None:
        self.is_ready = False


@contextmanager
def client_of(model: Path, limits: Limits | None = None, **options: Any) -> Iterator[TestClient]:
    """Start an app that answers in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "_Worker", WorkerHere)
        app = make_app(model, limits or Limits(), n_workers=1, **options)
        with TestClient(app, "http://127.0.0.1") as started:
            yield started


def check_answer(client: Any, name: str, answer: Any) -> None:
    """Check an answer against its schema in the OpenAPI document."""
    import jsonschema  # type: ignore[import-untyped]

    components = client.get("/openapi.json").json()["components"]
    schema = {"$ref": f"#/components/schemas/{name}Answer", "components": components}
    jsonschema.validate(answer, schema)
