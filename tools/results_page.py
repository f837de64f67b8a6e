"""Put the tables and figures of studies into README and docs, so that none is typed by hand.

::

    python tools/results_page.py

A page names a table by a comment: the file in repro/results, the heading above the table, the rows
(names separated by semicolons, where a star stands for anything), and `means` to leave out intervals. Two
headings give two figures a cell; after `//` come rows of another table. Sentences with figures are named
as in `results_words`.

    <!-- table: accuracy-repeated.md / ROC-AUC + Log loss / GDLNN; WL-OA / means -->
    <!-- end -->
    Its rank is <!-- words: readme accuracy --><!-- end -->.

What stands between the two comments is replaced.
"""

from __future__ import annotations

import fnmatch
import re

from results_words import ROOT, WORDS, lines_below

NEW_LINE = "\n"
PAGES = [ROOT / "README.md", ROOT / "docs" / "results.md"]
MARK = re.compile(
    r"(<!-- (?P<kind>table|words): (?P<wanted>[^\n]*?) -->\n?)(?P<old>.*?)(<!-- end -->)", re.DOTALL
)


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


def chosen_rows(name: str, heading: str, names: str, means: bool) -> list[list[str]]:
    """Return the head of a table and the rows that are wanted, as cells."""
    head, *rows = lines_below(name, heading)
    by_name = {row[0]: row for row in rows}
    patterns = [name.strip() for name in names.split(";")]
    found = {pattern: fnmatch.filter(by_name, pattern) for pattern in patterns}
    if missing := [pattern for pattern, rows in found.items() if not rows]:
        raise SystemExit(f"{name}.md: expected the rows {patterns}, got a table without {missing}")
    chosen = [by_name[row] for rows in found.values() for row in rows]
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
        chosen_rows(file.removesuffix(".md"), heading.strip(), names, "means" in more)
        for heading in headings.split("+")
    ]
    return [
        [
            first[0][0],
            *(", ".join(dict.fromkeys(cells)) for cells in zip(*(row[1:] for row in first), strict=True)),
        ]
        for first in zip(*tables, strict=True)
    ]


def for_readers(text: str) -> str:
    """Return a text with minus signs in place of the hyphens before numbers, and "tuned" for how."""
    return re.sub(r"\(\d+ configurations\)", "(tuned)", re.sub(r"(?<!\w)-(?=\d)", "−", text))


def filled(text: str) -> str:
    """Return a page with the tables and sentences that it names."""

    def replaced(found: re.Match[str]) -> str:
        new = shown(found["wanted"]) if found["kind"] == "table" else WORDS[found["wanted"]]()
        return f"{found[1]}{for_readers(new)}{NEW_LINE if found[1].endswith(NEW_LINE) else ''}{found[5]}"

    return MARK.sub(replaced, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
