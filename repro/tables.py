"""What the outputs of all studies share: Markdown, names in order, files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gdlnn.datasets.registry import REGISTRY
from gdlnn.io.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from repro.cells import Result


KEPT = {
    "accuracy-repeated": "accuracy --protocol repeated --runs 10",
    "accuracy-paper": "accuracy --protocol paper",
    "ablation-repeated": "ablation",
}
"""Commands that compute the cells of kept tables, where they are more than the name."""


def datasets_in(names: Iterable[str]) -> list[str]:
    """Return datasets once each, those of the paper in its order."""
    found = dict.fromkeys(names)
    return [name for name in REGISTRY if name in found] + [name for name in found if name not in REGISTRY]


def method_of(row: str) -> str:
    """Return the method of a row of the tables: ``gin`` for ``gin:6`` and ``gdlnn`` for ``gdlnn@0.2``."""
    return row.partition(":")[0].partition("@")[0]


def rows_in(rows: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the rows of tables once each, in the order of the known methods."""
    found = sorted(set(rows), key=lambda row: (len(row), row))
    return [row for name in known for row in found if method_of(row) == name]


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; a bar within a cell, as in |D|, does not end it."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (header, *rows)]
    lines.insert(1, "|" + "---|" * len(header))
    return "\n".join(lines)


def frame_markdown(frame: pd.DataFrame) -> str:
    """Return a table of texts in Markdown."""
    return markdown(list(frame.columns), frame.to_numpy().tolist())


def page(sections: Mapping[str, Sequence[str]]) -> str:
    """Return a page of Markdown from titles and paragraphs; a section without paragraphs is left out."""
    parts = [part for title, texts in sections.items() if any(texts) for part in (f"### {title}", *texts)]
    return "\n\n".join(part for part in parts if part) + "\n"


def provenance(cells: Sequence[Result]) -> str:
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
    out: Path | str,
    name: str,
    cells: Sequence[Result],
    text: str,
    frame: pd.DataFrame,
    picture: bytes | None = None,
) -> str:
    """Write ``NAME.md``, ``.csv`` and ``.svg`` into the folder of a study; return the Markdown.

    Both name the command; for kept cells, which have no picture, the one that computes them.
    """
    words = sys.argv[1:]
    command = command_line(KEPT.get(name, name).split() if words[:1] == ["keep"] else words)
    text = f"{text.rstrip()}\n\n`{command}`: {provenance(cells)}"
    write_file(Path(out) / f"{name}.md", text)
    numbers = frame.to_csv(index=False, float_format="%.6g")
    write_file(Path(out) / f"{name}.csv", f"# {command}\n{numbers}")
    if picture is not None and words[:1] != ["keep"]:
        write_file(Path(out) / f"{name}.svg", picture.decode())
    return text


def command_line(words: Sequence[str]) -> str:
    """Return the command of a study without the options that only concern this machine."""
    own = ("--out", "--data", "--jobs", "--limit")
    kept = [
        word
        for before, word in zip(("", *words), words, strict=False)
        if before not in own and word not in (*own, "--tables-only")
    ]
    return " ".join(["python -m repro", *kept])


def write_file(file: Path, text: str) -> None:
    """Write a text; the file appears when it is complete."""
    with atomic_write(file) as handle:
        handle.write(text.encode())
