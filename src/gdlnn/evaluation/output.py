"""Writing what a study found: tables, figure, and the part of a document between two marks."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from gdlnn.errors import GDLNNError, MissingExtraError
from gdlnn.evaluation.figure import draw
from gdlnn.evaluation.protocols import MAIN_METRIC
from gdlnn.evaluation.summary import summarise
from gdlnn.evaluation.tables import ablation_table, cells_csv, failures, report
from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

    from gdlnn.evaluation.cells import Result, Store
    from gdlnn.evaluation.protocols import Protocol

logger = logging.getLogger(__name__)
ABLATION = "ablation-"


def write_accuracy(store: Store, protocol: Protocol, document: Path | None = None) -> str:
    """Write ``accuracy-PROTOCOL.md``, ``.csv`` and ``.svg`` of the cells there are; return the tables."""
    cells = [cell for cell in store.cells(protocol) if not cell["method"].startswith(ABLATION)]
    entries = summarise(cells)
    text = report(entries, protocol) + "\n" + provenance(cells)
    base = store.folder / f"accuracy-{protocol}"
    write_file(base.with_suffix(".md"), text)
    write_file(base.with_suffix(".csv"), cells_csv(cells))
    try:
        picture = draw(entries, MAIN_METRIC[protocol])
    except MissingExtraError as error:
        logger.warning("%s", error)
    else:
        with atomic_write(base.with_suffix(".svg")) as handle:
            handle.write(picture)
    if document is not None:
        replace_part(document, f"accuracy-{protocol}", text)
    return text


def write_ablation(store: Store, protocol: Protocol, document: Path | None = None) -> str:
    """Write ``ablation-PROTOCOL.md`` and ``.csv``; return the table."""
    cells = [cell for cell in store.cells(protocol) if cell["method"].startswith(ABLATION)]
    entries = summarise(cells)
    failed = failures(entries)
    text = ablation_table(entries) + "\n\n" + (f"{failed}\n\n" if failed else "") + provenance(cells)
    base = store.folder / f"ablation-{protocol}"
    write_file(base.with_suffix(".md"), text)
    write_file(base.with_suffix(".csv"), cells_csv(cells))
    if document is not None:
        replace_part(document, f"ablation-{protocol}", text)
    return text


def write_file(file: Path, text: str) -> None:
    """Write a text; the file appears when it is complete."""
    with atomic_write(file) as handle:
        handle.write(text.encode())


def provenance(cells: list[Result]) -> str:
    """Return in one paragraph on which machines, when and with which versions cells were made."""
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
    return f"{len(fine)} cells, {when}, on {'; '.join(machines)}; {' | '.join(versions)}.\n"


def replace_part(document: Path, name: str, text: str) -> None:
    """Put a text between ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->`` of a document."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    content = document.read_text(encoding="utf-8")
    before, found, rest = content.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise GDLNNError(f"{document.name}: expected the marks {begin} and {end}, got a text without them")
    write_file(document, f"{before}{begin}\n{text.strip()}\n{end}{after}")
