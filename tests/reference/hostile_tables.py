"""Excel and Parquet files that are small and stand for much."""

import io
import zipfile
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

MB = 1 << 20
MANY = 300_000
_KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MEMBERS = (("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml"))
SHEET_MEMBERS = (
    "[Content_Types].xml",
    "_rels/.rels",
    "xl/workbook.xml",
    "xl/_rels/workbook.xml.rels",
    "xl/worksheets/sheet1.xml",
    "xl/sharedStrings.xml",
)
_HEAD = b'<row><c t="inlineStr"><is><t>smiles</t></is></c><c t="inlineStr"><is><t>y</t></is></c></row>'
_ROW = b'<row><c t="inlineStr"><is><t>C</t></is></c><c><v>%d</v></c></row>'


def workbook(rows: bytes, strings: bytes = b"", head: bytes = _HEAD) -> bytes:
    """Return an Excel file, from the markup inside its sheet and its shared strings."""
    related = "".join(
        f'<Relationship Id="r{number}" Type="{_KIND}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(_MEMBERS)
    )
    book = f'<Relationship Id="r" Type="{_KIND}/officeDocument" Target="xl/workbook.xml"/>'
    contents: tuple[str | bytes, ...] = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        f"<Relationships>{book}</Relationships>",
        f'<workbook xmlns:r="{_KIND}"><sheets><sheet name="s" r:id="r0"/></sheets></workbook>',
        f"<Relationships>{related}</Relationships>",
        b"<worksheet><sheetData>" + head + rows + b"</sheetData></worksheet>",
        b"<sst>" + strings + b"</sst>",
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in zip(SHEET_MEMBERS, contents, strict=True):
            file.writestr(name, content)
    return buffer.getvalue()


def sheet_of(rows: list[list[str]]) -> bytes:
    """Return an Excel file of text."""
    strings = list(dict.fromkeys(cell for row in rows for cell in row))
    places = {text: place for place, text in enumerate(strings)}
    cells = ("".join(f'<c t="s"><v>{places[cell]}</v></c>' for cell in row) for row in rows)
    markup = "".join(f"<row>{row}</row>" for row in cells)
    listed = "".join(f"<si><t>{escape(text)}</t></si>" for text in strings)
    return workbook(markup.encode(), listed.encode(), head=b"")


_TWO = _ROW % 0 + _ROW % 1
HOSTILE_SHEETS: dict[str, Callable[[], bytes]] = {
    "sheet of blanks": lambda: workbook(_TWO + b" " * (100 * MB)),
    "short strings": lambda: workbook(_TWO, strings=b"<si><t>ab</t></si>" * (MANY // 3)),
    "one row of cells": lambda: workbook(b"<row>" + b"<c/>" * MANY + b"</row>" + _TWO),
    "empty rows": lambda: workbook(b"<row/>" * MANY + _TWO),
    "a row far below": lambda: workbook(_TWO + b'<row r="999999999999">' + b"<c><v>1</v></c></row>"),
    "a cell far away": lambda: workbook(_TWO + b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
    "nested elements": lambda: workbook(b"<a>" * MANY),
}


def hostile_parquet() -> dict[str, tuple[bytes, int, int]]:
    """Return Parquet files by name: content, its length unpacked, and the rows."""
    import pyarrow as pa
    from pyarrow import parquet

    def repeated(text: str, n: int) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([text]))

    tables = {
        "equal rows": pa.table({"smiles": repeated("C", 3 * MB)}),
        "one long value": pa.table({"smiles": repeated("C" * 900_000, 100_000), "y": repeated("1", 100_000)}),
        "too long a value": pa.table({"smiles": repeated("C" * (2 * MB), 10), "y": repeated("1", 10)}),
        "one list": pa.table({"smiles": ["C"], "y": pa.array([np.zeros(3 * MB, np.int8)])}),
        "values of fixed length": pa.table({"smiles": ["C"] * 5000, "y": _fixed(pa, 100_000, 5000)}),
    }
    found = {}
    for name, table in tables.items():
        found[name] = _written(parquet, table, use_dictionary=True)
    packed = pa.table({"smiles": ["C" * 1000] * 100_000})
    found["pages"] = _written(parquet, packed, use_dictionary=False)
    return found


def _fixed(pa: Any, length: int, n: int) -> Any:
    one = pa.array([b"0" * length], pa.binary(length))
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), one)


def _written(parquet: Any, table: Any, **options: Any) -> tuple[bytes, int, int]:
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression="zstd", row_group_size=1 << 30, **options)
    file = parquet.ParquetFile(io.BytesIO(buffer.getvalue())).metadata
    content = sum(file.row_group(number).total_byte_size for number in range(file.num_row_groups))
    return buffer.getvalue(), content, file.num_rows
