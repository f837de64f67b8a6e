"""What the outputs of all studies share: Markdown and CSV, names in order, files, parts of a document."""

from __future__ import annotations

import csv
import io
import logging
from typing import TYPE_CHECKING, Any, TypeVar

from gdlnn.datasets.registry import REGISTRY
from gdlnn.errors import GDLNNError, MissingExtraError
from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from repro.store import Result, Store

T = TypeVar("T")
logger = logging.getLogger(__name__)


def datasets_in(keys: Iterable[tuple[str, str]]) -> list[str]:
    """Return the datasets of keys (dataset, method) once each, those of the paper in its order."""
    names = dict.fromkeys(name for name, _ in keys)
    return [name for name in REGISTRY if name in names] + [name for name in names if name not in REGISTRY]


def row_of(cell: Result) -> str:
    """Return the row of the tables that a cell of an accuracy study belongs to.

    This is its method, as in ``gin``, or ``gin:6`` where the configuration was chosen among six: a method may
    have both.
    """
    several = int(cell["n_configurations"])
    return str(cell["method"]) if several == 1 else f"{cell['method']}:{several}"


def method_of(row: str) -> str:
    """Return the method of a row."""
    return row.partition(":")[0]


def methods_in(keys: Iterable[tuple[str, str]], known: Iterable[str]) -> list[str]:
    """Return the rows of keys (dataset, row) in the order of the known methods; see `row_of`."""
    rows = sorted({row for _, row in keys}, key=lambda row: (len(row), row))
    return [row for name in known for row in rows if method_of(row) == name]


def in_order(found: Mapping[tuple[str, str], T], known: Iterable[str]) -> list[T]:
    """Return what is known by dataset and method in the order of the tables: datasets, then methods."""
    methods = methods_in(found, known)
    keys = [(dataset, method) for dataset in datasets_in(found) for method in methods]
    return [found[key] for key in keys if key in found]


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; a bar within a cell, as in |D|, does not end it."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (header, *rows)]
    lines.insert(1, "|" + "---|" * len(header))
    return "\n".join(lines)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def page(sections: Mapping[str, Sequence[str]]) -> str:
    """Return a page of Markdown from titles and paragraphs; a section without paragraphs is left out."""
    parts = [part for title, texts in sections.items() if any(texts) for part in (f"### {title}", *texts)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _provenance(cells: Sequence[Result]) -> str:
    """Return in one paragraph on which machines, when and with which versions cells were computed."""
    fine = [cell for cell in cells if cell["status"] == "ok"]
    if not fine:
        return "No cell has gone well yet.\n"
    machines = dict.fromkeys(
        f"{m['processor']} ({m['cpus']} cores{', ' + m['gpu'] if m['gpu'] else ''})"
        for m in (cell["machine"] for cell in fine)
    )
    days = sorted(cell["finished"][:10] for cell in fine)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    versions = dict.fromkeys(
        ", ".join(f"{name} {number}" for name, number in cell["versions"].items()) for cell in fine
    )
    used = "".join(f"- `{one}`\n" for one in (*machines, *versions))
    return f"{len(fine)} cells, {when}, on these machines and with these versions:\n\n{used}"


def write_results(
    store: Store,
    name: str,
    cells: Sequence[Result],
    text: str,
    rows: str,
    draw: Callable[[], bytes] | None = None,
    document: Path | None = None,
    *,
    show_picture: bool = False,
    summary: str = "",
) -> str:
    """Write ``NAME.md``, ``.csv`` and ``.svg`` into the folder of a study; return the Markdown.

    A document gets the tables between the marks NAME, the summary between the marks NAME-summary, or both;
    pages can so show a summary and leave the rest to another page.

    Parameters
    ----------
    store
        The folder.
    name
        Of the files, and of the marks in `document`.
    cells
        The cells behind the tables; their sources are listed below the tables.
    text, rows
        The tables as Markdown and as CSV.
    draw
        Returns the figure as SVG; without matplotlib there is none.
    document
        A Markdown file to put the tables into.
    show_picture
        Show the figure in the document too.
    summary
        The main table.
    """
    sources = _provenance(cells)
    text = f"{text.rstrip()}\n\n{sources}"
    write_file(store.folder / f"{name}.md", text)
    write_file(store.folder / f"{name}.csv", rows)
    picture = ""
    if draw is not None:
        try:
            picture = draw().decode()
        except MissingExtraError as error:
            logger.warning("%s", error)
        else:
            write_file(store.folder / f"{name}.svg", picture)
    if document is not None:
        shown = text
        if picture and show_picture:
            # Next to the document, so that its pages show it wherever the results are.
            file = document.parent / "pictures" / f"study-{name}.svg"
            write_file(file, picture)
            shown = f"![{name}](pictures/{file.name})\n\n{text}"
        short = f"{name}-summary"
        has_short = bool(summary) and has_part(document, short)
        if has_short:
            replace_part(document, short, f"{summary.rstrip()}\n\n{sources}")
        if has_part(document, name) or not has_short:
            replace_part(document, name, shown)
    return text


def write_file(file: Path, text: str) -> None:
    """Write a text; the file appears when it is complete."""
    with atomic_write(file) as handle:
        handle.write(text.encode())


def has_part(document: Path, name: str) -> bool:
    """Say whether a document has the marks of a part."""
    return f"<!-- {name}:begin -->" in document.read_text(encoding="utf-8")


def replace_part(document: Path, name: str, text: str) -> None:
    """Put a text between ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->`` of a document."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    content = document.read_text(encoding="utf-8")
    before, found, rest = content.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise GDLNNError(f"{document.name}: expected the marks {begin} and {end}, got a text without them")
    write_file(document, f"{before}{begin}\n{text.strip()}\n{end}{after}")
