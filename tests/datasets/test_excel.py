"""Excel and Parquet files as tables: the values that programs write, and damaged files."""

import subprocess
import sys
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from gdlnn.datasets import opening
from gdlnn.datasets.opening import readable
from gdlnn.datasets.tables import open_table
from gdlnn.errors import DatasetError
from gdlnn.io import bounded
from reference.hostile_tables import HOSTILE_SHEETS, sheet_of, workbook


def rows_of(path: Path) -> list[tuple[str, ...]]:
    table = open_table(path)
    return [tuple(table.header), *(row.cells for row in table.rows([], whole=True))]


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
        ("=1+1", "x", 2.5e300),
    ]
    for row in values:
        book.active.append(row)
    book.active["B20"] = "below"
    book.create_sheet("another").append(["not read"])
    book.save(tmp_path / "t.xlsx")
    assert rows_of(tmp_path / "t.xlsx") == [
        ("smiles", "y", "when"),
        ("CCO & <b>", "1", "2020-01-02"),
        ("C", "0.1", "2021-05-06T07:08:09"),
        ("", "True", "12:30:00"),
        ("", "1e-07", ""),
        ("a\nb", "123456789012", "-3"),
        ("", "x", "2.5e+300"),  # a formula without a saved value
        ("", "below", ""),
    ]


def test_shared_strings_and_a_sheet_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(sheet_of([["CCO", "a"], ["CCN", ""]]))
    assert rows_of(path) == [("CCO", "a"), ("CCN", "")]
    bare = open_table(path, ("1", "2"))
    assert [row.cells for row in bare.rows(["1", "2"])] == [("CCO", "a"), ("CCN", "")]
    path.write_bytes(workbook(b"", head=b""))
    with pytest.raises(DatasetError, match=r"t\.xlsx: expected a header line .*, got an empty sheet"):
        open_table(path)


def test_parquet_columns_that_are_not_cells_are_left_out(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns: dict[str, Any] = {
        "smiles": ["CCO", None],
        "bits": [[0, 1], [1]],
        "y": [0.5, float("nan")],
        "long": pa.array([b"0" * 100] * 2, pa.binary(100)),
        "day": [date(2020, 1, 2), None],
        "word": pa.array(["a", "a"]).dictionary_encode(),
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert rows_of(tmp_path / "t.parquet") == [
        ("smiles", "y", "day", "word"),
        ("CCO", "0.5", "2020-01-02", "a"),
        ("", "", "", "a"),
    ]


@pytest.mark.parametrize("name", ["a row far below", "a cell far away"])
def test_a_cell_far_from_the_table_is_refused_before_calamine_fills_the_memory(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "t.xlsx").write_bytes(HOSTILE_SHEETS[name]())
    with pytest.raises(DatasetError, match=r"t\.xlsx: expected a sheet of at most 32,000,000 cells, got "):
        open_table(tmp_path / "t.xlsx")


def test_what_unpacks_to_far_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    for module in (opening, bounded):
        monkeypatch.setattr(module, "FREE_BYTES", 1 << 20)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"smiles\n" + (b"C" * 1000 + b"\n") * 4000))
    with pytest.raises(DatasetError, match=r"t\.csv\.gz: a file of [\d,]+ bytes may unpack to at most"):
        rows_of(tmp_path / "t.csv.gz")
    (tmp_path / "t.xlsx").write_bytes(workbook(b" " * (8 << 20)))
    with pytest.raises(DatasetError, match=r"t\.xlsx: not an Excel file, or damaged: .* bytes of content"):
        rows_of(tmp_path / "t.xlsx")


def test_a_panic_and_other_errors_of_libraries_name_the_file(tmp_path: Path) -> None:
    class PanicException(BaseException):
        pass

    for error in (PanicException("index out of bounds"), RuntimeError("bad"), OSError("worse")):
        with (
            pytest.raises(DatasetError, match=r"^t\.xlsx: not an Excel file, or damaged: "),
            readable(tmp_path / "t.xlsx", "an Excel file"),
        ):
            raise error
    for passed_on in (KeyboardInterrupt, SystemExit, MemoryError):
        with pytest.raises(passed_on), readable(tmp_path / "t.xlsx", "an Excel file"):
            raise passed_on


FLIPS = """
import sys
from pathlib import Path
from gdlnn.errors import DatasetError
from gdlnn.datasets.tables import open_table
path, n_read, n_refused = Path(sys.argv[1]), 0, 0
data = path.read_bytes()
length = int.from_bytes(data[-8:-4], "little")
for place in range(len(data) - 8 - length, len(data)):
    changed = bytearray(data)
    changed[place] ^= 1 << place % 8
    path.write_bytes(changed)
    try:
        n_read += bool(list(open_table(path).rows([], whole=True)))
    except DatasetError:
        n_refused += 1
print(n_read, n_refused)
"""


def test_a_flipped_bit_of_a_parquet_footer_is_an_error_or_a_table(tmp_path: Path) -> None:
    """In a process of its own: pyarrow ends it if asked about columns whose statistics are damaged."""
    from fuzz.readers import seeds

    (tmp_path / "t.parquet").write_bytes(seeds("parquet")[1])
    command = [sys.executable, "-c", FLIPS, str(tmp_path / "t.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert min(map(int, done.stdout.split())) > 50
