"""Excel files as rows of text: what Excel and other programs write, and what is refused."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import TYPE_CHECKING

import pytest

from gdlnn import DatasetError
from gdlnn.datasets.excel import excel_rows
from reference.hostile_tables import sheet_of, workbook

if TYPE_CHECKING:
    from pathlib import Path

XF = b'<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/>'


def rows_of(tmp_path: Path, data: bytes) -> list[list[str]]:
    path = tmp_path / "t.xlsx"
    path.write_bytes(data)
    return list(excel_rows(path))


def test_what_openpyxl_writes(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["smiles", "y", "when"])
    values = [
        ("CCO & <b>", 1, date(2020, 1, 2)),
        (" C ", 0.1, datetime(2021, 5, 6, 7, 8, 9)),
        (None, True, time(12, 30)),
        ("", 1e-7, None),
        ("a\nb", 123456789012, -3.0),
        ("=1+1", "#N/A", 2.5e300),
    ]
    for row in values:
        book.active.append(row)
    book.active["F9"] = "far"
    book.create_sheet("another").append(["not read"])
    book.save(tmp_path / "t.xlsx")
    assert list(excel_rows(tmp_path / "t.xlsx")) == [
        ["smiles", "y", "when"],
        ["CCO & <b>", "1", "2020-01-02"],
        ["C", "0.1", "2021-05-06T07:08:09"],
        ["", "True", "12:30:00"],
        ["", "1e-07"],
        ["a\nb", "123456789012", "-3"],
        ["", "#N/A", "2.5e+300"],  # a formula without a saved value
        ["", "", "", "", "", "far"],
    ]


def test_what_other_programs_write(tmp_path: Path) -> None:
    cells = (
        b'<row r="5"><c r="B5" t="s"><v>0</v></c><c t="s"><v>1</v></c></row>'
        b'<row><c t="str"><f>A1</f><v>saved</v></c><c t="b"><v>0</v></c>'
        b'<c t="d"><v>2020-01-02T00:00:00</v></c></row>'
        b'<row><c s="1"><v>45000</v></c><c s="2"><v>45000.5</v></c><c s="1"><v>59</v></c>'
        b'<c s="1"><v>1e300</v></c>'
        b'<c t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r></is></c></row>'
    )
    strings = b"<si><r><t>ri</t></r><r><t>ch</t></r><rPh><t>spoken</t></rPh></si><si><t/></si>"
    assert rows_of(tmp_path, workbook(cells, strings, XF, head=b"")) == [
        ["", "rich"],
        ["saved", "False", "2020-01-02"],
        ["2023-03-15", "2023-03-15T12:00:00", "1900-02-28", "1e300", "inline"],
    ]
    assert rows_of(tmp_path, sheet_of([["a", "b"], ["c", ""]])) == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (b'<row><c t="s"><v>7</v></c></row>', "expected one of 0 strings, got 7"),
        (b'<row><c t="s"><v>-1</v></c></row>', "expected a whole number, got '-1'"),
        (b'<row><c r="1A"/></row>', "expected a cell such as A1, got '1A'"),
        (b'<row><c r="ZZZ1"/></row>', "expected at most 16,384 columns"),
        (b"<row><c><v>one</v></c></row>", "expected a number, got 'one'"),
        (b"<row><c><v>1.2.3</v></c></row>", "could not convert"),
        (b"<row>", "mismatched tag"),
        (b"<a>" * 200, "nested less deeply"),
    ],
)
def test_what_is_refused(tmp_path: Path, rows: bytes, reason: str) -> None:
    with pytest.raises(DatasetError, match=rf"t\.xlsx: not an Excel file, or damaged: .*{reason}"):
        rows_of(tmp_path, workbook(rows))
