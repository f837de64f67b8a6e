"""Put the tables and figures of studies into README and docs, so that none is typed by hand.

::

    python tools/results_page.py

A page names a table by a comment: the file in repro/results, the heading above the table, the rows (`all`, or
names separated by semicolons, where a star stands for any end), and `means` to leave out intervals. Two
headings give two figures a cell; after `//` come rows of another table. Sentences with figures are named
as in `results_words`.

    <!-- table: accuracy-repeated.md / ROC-AUC + Log loss / GDLNN; WL-OA / means -->
    <!-- end -->
    Its rank is <!-- words: readme accuracy --><!-- end -->.

What stands between the two comments is replaced.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from results_words import RESULTS, WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable

NEW_LINE = "\n"
ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "docs" / "results.md"]
MARK = re.compile(
    r"(<!-- (?P<kind>table|words): (?P<wanted>[^\n]*?) -->\n?)(?P<old>.*?)(<!-- end -->)", re.DOTALL
)


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
    """Return rows without intervals, with the best mean of each column in bold.

    Means of fewer splits keep the number of these, and are not the best.
    """
    plain = [[row[0], *(re.sub(r" ± [\d.]+", "", cell.replace("*", "")) for cell in row[1:])] for row in rows]
    for column in range(1, len(plain[0])):
        full = [row for row in plain if re.fullmatch(r"[\d.]+", row[column])]
        best = (min if smallest else max)((float(row[column]) for row in full), default=0.0)
        for row in full:
            if float(row[column]) == best:
                row[column] = f"**{row[column]}**"
    return plain


def matching(name: str, rows: Iterable[str]) -> list[str]:
    """Return the rows of a name; a star at its end stands for anything."""
    start, star, end = name.rpartition("*")
    return [row for row in rows if row == name or (star and not end and row.startswith(start))]


def chosen_rows(file: Path, heading: str, names: str, means: bool) -> list[list[str]]:
    """Return the head of a table and the rows that are wanted, as cells."""
    head, _, *rows = map(cells_of, table_of(file, heading))
    by_name = {row[0]: row for row in rows}
    patterns = ["*"] if names == "all" else [name.strip() for name in names.split(";")]
    found = {name: matching(name, by_name) for name in patterns}
    if missing := [name for name, rows in found.items() if not rows]:
        raise SystemExit(f"{file.name}: expected the rows {patterns}, got a table without {missing}")
    wanted = [row for rows in found.values() for row in rows]
    chosen = [by_name[name] for name in wanted]
    return [head, *(means_of(chosen, heading.startswith("Log loss")) if means else chosen)]


def shown(wanted: str) -> str:
    """Return the table that a comment asks for, without spaces that only the source would show."""
    (head, *rows), *later = map(rows_wanted, wanted.split(" // "))
    rows += [row[: len(head)] for _, *more in later for row in more]
    return "\n".join(f"|{'|'.join(row)}|" for row in (head, ["---"] * len(head), *rows))


def rows_wanted(source: str) -> list[list[str]]:
    """Return the head and the rows of a table that a comment asks for."""
    file, headings, names, *more = (part.strip() for part in source.split(" / "))
    tables = [
        chosen_rows(RESULTS / file, heading.strip(), names, "means" in more)
        for heading in headings.split("+")
    ]
    return [
        [
            first[0][0],
            *(", ".join(dict.fromkeys(cells)) for cells in zip(*(row[1:] for row in first), strict=True)),
        ]
        for first in zip(*tables, strict=True)
    ]


def with_minus(text: str) -> str:
    """Return a text with minus signs in place of the hyphens before numbers."""
    return re.sub(r"(?<!\w)-(?=\d)", "−", text)


def filled(text: str) -> str:
    """Return a page with the tables and sentences that it names.

    What is of a study that has not been run stays as it is.
    """

    def replaced(found: re.Match[str]) -> str:
        try:
            new = with_minus(shown(found["wanted"]) if found["kind"] == "table" else WORDS[found["wanted"]]())
        except FileNotFoundError:
            return found[0]
        return f"{found[1]}{new}{NEW_LINE if found[1].endswith(NEW_LINE) else ''}{found[5]}"

    return MARK.sub(replaced, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
