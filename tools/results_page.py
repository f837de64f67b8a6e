"""Put the tables of studies into README and docs, so that no figure is typed by hand.

::

    python tools/results_page.py

A page names a table by a comment: the file in repro/results, the heading above the table, the rows (`all`, or
names separated by semicolons), and `means` to leave out intervals. Two headings give two figures a cell.

    <!-- table: accuracy-repeated.md / ROC-AUC + Log loss / GDLNN; WL-OA / means -->
    <!-- end -->

What stands between the two comments is replaced.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "repro" / "results"
PAGES = [ROOT / "README.md", ROOT / "docs" / "results.md"]
MARK = re.compile(r"(<!-- table: (?P<wanted>[^\n]*?) -->\n)(?P<table>.*?)(<!-- end -->)", re.DOTALL)


def table_of(file: Path, heading: str) -> list[str]:
    """Return the lines of the first table below a heading."""
    _, found, text = file.read_text(encoding="utf-8").partition(f"### {heading}\n")
    rows = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    if not found or rows is None:
        raise SystemExit(f"{file.name}: expected a table below '### {heading}', got none")
    return rows[0].splitlines()


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def means_of(rows: list[list[str]], smallest: bool) -> list[list[str]]:
    """Return rows without intervals, with the best mean of each column in bold."""
    plain = [[row[0], *(re.sub(r" ±.*", "", cell.replace("*", "")) for cell in row[1:])] for row in rows]
    for column in range(1, len(plain[0])):
        values = [float(row[column]) for row in plain if row[column][:1].isdigit()]
        best = (min if smallest else max)(values, default=0.0)
        for row in plain:
            if row[column][:1].isdigit() and float(row[column]) == best:
                row[column] = f"**{row[column]}**"
    return plain


def chosen_rows(file: Path, heading: str, names: str, means: bool) -> list[list[str]]:
    """Return the head of a table and the rows that are wanted, as cells."""
    head, _, *rows = map(cells_of, table_of(file, heading))
    by_name = {row[0]: row for row in rows}
    wanted = [*by_name] if names == "all" else [name.strip() for name in names.split(";")]
    if missing := [name for name in wanted if name not in by_name]:
        raise SystemExit(f"{file.name}: expected the rows {wanted}, got a table without {missing}")
    chosen = [by_name[name] for name in wanted]
    return [head, *(means_of(chosen, heading.startswith("Log loss")) if means else chosen)]


def shown(wanted: str) -> str:
    """Return the table that a comment asks for."""
    file, headings, names, *more = (part.strip() for part in wanted.split(" / "))
    tables = [
        chosen_rows(RESULTS / file, heading.strip(), names, "means" in more)
        for heading in headings.split("+")
    ]
    rows = [
        [
            first[0][0],
            *(", ".join(dict.fromkeys(cells)) for cells in zip(*(row[1:] for row in first), strict=True)),
        ]
        for first in zip(*tables, strict=True)
    ]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def filled(text: str) -> str:
    """Return a page with the tables that it names; one whose file is not there stays as it is."""

    def replaced(found: re.Match[str]) -> str:
        file = found["wanted"].split(" / ")[0].strip()
        table = f"{shown(found['wanted'])}\n" if (RESULTS / file).is_file() else found["table"]
        return f"{found[1]}{table}{found[4]}"

    return MARK.sub(replaced, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
