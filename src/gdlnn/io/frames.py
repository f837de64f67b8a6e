"""Tables: delimited text, a pandas DataFrame, and what a notebook shows."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from gdlnn.errors import require

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Columns = dict[str, list[Any]]
MOST_ROWS = 20
LONGEST = 200


def table_text(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> str:
    """Return rows as delimited text; text that a spreadsheet would run as a formula begins with '."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows([_inert(cell) for cell in row] for row in rows)
    return text.getvalue()


def _inert(cell: Any) -> Any:
    if not isinstance(cell, str) or len(cell) < 2 or cell[0] not in "=+-@\t\r":
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def data_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return columns as a pandas DataFrame."""
    pandas = require("pandas", "tables", "A DataFrame")
    return pandas.DataFrame({name: list(values) for name, values in columns.items()})


def html_table(columns: Mapping[str, Sequence[Any]], caption: str) -> str:
    """Return columns as an HTML table with its first rows; all text is escaped."""
    rows = list(zip(*columns.values(), strict=True))
    lines = [Markup("<table><caption>{}</caption>").format(caption), Markup("<thead><tr>")]
    lines += [Markup("<th>{}</th>").format(name) for name in columns]
    lines.append(Markup("</tr></thead><tbody>"))
    for row in rows[:MOST_ROWS]:
        cells = Markup("").join(Markup("<td>{}</td>").format(_shown(value)) for value in row)
        lines.append(Markup("<tr>{}</tr>").format(cells))
    lines.append(Markup("</tbody></table>"))
    if len(rows) > MOST_ROWS:
        lines.append(Markup("<p>{} rows in all</p>").format(len(rows)))
    return str(Markup("\n").join(lines))


def _shown(value: Any) -> Markup:
    if value is None:
        return Markup("")
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
