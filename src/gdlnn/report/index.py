"""The index of a folder of models: one page with the summary of each, and links to their reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gdlnn.drawing import write_text
from gdlnn.drawing.pages import render
from gdlnn.version import package_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.model.model_folder import FolderEntry

INDEX = "index.html"


def report_name(entry: FolderEntry) -> str:
    """Return the name of the report of a model."""
    return f"{Path(entry.file).stem}.html"


def write_index(folder: Path, entries: Sequence[FolderEntry], title: str = "") -> Path:
    """Write the index into a folder; a model with a report in the same folder gets a link to it."""
    rows = [
        {
            "label": entry.label,
            "file": entry.file,
            "report": report_name(entry) if (folder / report_name(entry)).is_file() else "",
            **entry.summary,
        }
        for entry in entries
    ]
    page = render(
        "gdlnn.report/index.html",
        title=f"{title or folder.resolve().name} · GDLNN models",
        name=title or folder.resolve().name,
        rows=rows,
        shown=lambda value: "–" if value is None or value == "" else f"{value:.3f}",
        made_by=f"gdlnn {package_version()}",
    )
    write_text(folder / INDEX, page)
    return folder / INDEX
