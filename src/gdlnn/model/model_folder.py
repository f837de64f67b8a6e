"""A folder of models, one for each label column of a table, and the file that lists them."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdlnn.errors import ModelError
from gdlnn.io.atomic import atomic_write
from gdlnn.model.model_file import load_model

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

MANIFEST, SUMMARY, INDEX = "models.json", "summary.csv", "index.html"
FORMAT = "gdlnn-models"
VERSION = 1
MAX_BYTES = 16 << 20


@dataclass(frozen=True)
class FolderEntry:
    """A model of a folder: the label column, the file, and a row of the summary."""

    label: str
    file: str
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def report(self) -> str:
        """The name of the report of the model."""
        return f"{Path(self.file).stem}.html"


@contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to write models into, which takes the place of `folder` when everything is written."""
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".gdlnn-", dir=folder.parent) as made:
        new, old = Path(made, "new"), Path(made, "old")
        new.mkdir()
        yield new
        for path in (new, *new.iterdir()):
            if (before := folder / path.relative_to(new)).exists():
                shutil.copymode(before, path)
        if not (folder / MANIFEST).is_file():
            folder.mkdir(exist_ok=True)
            # The manifest comes last: without it there is no folder of models yet.
            for path in sorted(new.iterdir(), key=lambda path: path.name == MANIFEST):
                path.replace(folder / path.name)
            return
        try:
            folder.rename(old)
            new.rename(folder)
        except BaseException:
            if old.exists() and not folder.exists():
                old.rename(folder)
            raise


def foreign_file(folder: Path) -> str | None:
    """Return the name of a file in a folder that is none of its models, their reports and lists."""
    entries = read_manifest(folder) if (folder / MANIFEST).is_file() else []
    own = {MANIFEST, SUMMARY, INDEX} | {entry.file for entry in entries} | {e.report for e in entries}
    return next((path.name for path in folder.iterdir() if path.name not in own), None)


def write_manifest(folder: Path, entries: Sequence[FolderEntry]) -> None:
    """Write the list of the models in a folder."""
    models = [{"label": e.label, "file": e.file, "summary": e.summary} for e in entries]
    text = json.dumps({"format": FORMAT, "version": VERSION, "models": models}, ensure_ascii=False, indent=1)
    with atomic_write(folder / MANIFEST) as file:
        file.write(text.encode())


def read_manifest(folder: Path) -> list[FolderEntry]:
    """Return the models of a folder, in the order of their labels on the command line."""
    path = folder / MANIFEST
    if not path.is_file():
        raise ModelError(f"{folder.name}: expected a model file or a folder of models, got neither")
    try:
        size = path.stat().st_size
        data: Any = json.loads(path.read_bytes()) if size <= MAX_BYTES else None
        known = data["format"] == FORMAT and data["version"] == VERSION
        listed = data["models"] if known else []
        entries = [FolderEntry(str(m["label"]), str(m["file"]), dict(m["summary"])) for m in listed]
    except (ValueError, LookupError, TypeError, OSError, RecursionError) as error:
        raise ModelError(f"{folder.name}/{MANIFEST}: expected a list of models, got {error}") from error
    if not entries or any(Path(entry.file).name != entry.file for entry in entries):
        raise ModelError(f"{folder.name}/{MANIFEST}: expected a list of the models in this folder")
    return entries


def load_models(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the models of a folder that `gdlnn train` wrote for several labels, by label.

    A model file gives the model alone, under the empty name.
    """
    place = Path(path)
    if not place.is_dir():
        return {"": load_model(place)}
    return {entry.label: load_model(place / entry.file) for entry in read_manifest(place)}
