"""The first sheet of an Excel file, as rows of text.

The file is read as a stream of markup: no tree of it is ever built, row numbers are not trusted, and nothing
is kept but the shared strings and the formats of dates. Formulas give the values that were saved with them.
"""

from __future__ import annotations

import posixpath
import re
from collections import deque
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from gdlnn.datasets.text import bounded_rows
from gdlnn.errors import DatasetError
from gdlnn.io.bounded_zip import BadArchiveError, checked_archive

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MAX_CONTENT = 4 << 30
"""Most bytes that a file may unpack to."""
MAX_COLUMNS = 16_384
MAX_TEXT = 1 << 20
"""Most characters of a cell; Excel itself writes 32,767."""
_CHUNK = 1 << 16
_DEEPEST = 100
_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
_NOT_OF_DATES = re.compile(r'"[^"]*"|\[[^\]]*\]|[_\\].')
_CELL = re.compile(r"([A-Z]{1,3})[0-9]*")
_EPOCHS = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}


def excel_rows(path: Path) -> Iterator[list[str]]:
    """Yield the rows of the first sheet, each as wide as its last cell; empty rows may be left out.

    Raises
    ------
    DatasetError
        If the file is damaged, or not an Excel file.
    """
    try:
        with checked_archive(path, MAX_CONTENT) as archive:
            content = sum(member.file_size for member in archive.infolist())
            listed = map(_listed, _Sheet(_Book(archive)).rows(archive))
            yield from bounded_rows(listed, content, path.name)
    except (BadArchiveError, expat.ExpatError, _MarkupError) as error:
        raise DatasetError(f"{path.name}: not an Excel file, or damaged: {error}") from error


def _listed(cells: Mapping[int, str]) -> list[str]:
    return [cells.get(place, "") for place in range(max(cells) + 1)]


class _MarkupError(Exception):
    """Markup that no Excel file has."""


class _Markup:
    """A member of the archive, read as a stream; a subclass handles its elements by their local names."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._depth = 0
        self._parser.CharacterDataHandler = self.text
        self._parser.StartDoctypeDeclHandler = self._refuse

    def read(self, archive: zipfile.ZipFile, name: str) -> Iterator[None]:
        """Read a member; yield after each piece of it."""
        with archive.open(name) as stream:
            while piece := stream.read(_CHUNK):
                self._parser.Parse(piece)
                yield
            self._parser.Parse(b"", True)
            yield

    def read_whole(self, archive: zipfile.ZipFile, name: str | None) -> None:
        """Read a member, if there is one of that name."""
        if name is not None and name in archive.NameToInfo:
            deque(self.read(archive, name), maxlen=0)

    def _start(self, name: str, values: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _MarkupError("expected elements nested less deeply")
        self.start(name.rpartition(" ")[2], values)

    def _end(self, name: str) -> None:
        self._depth -= 1
        self.end(name.rpartition(" ")[2])

    def _refuse(self, *_: Any) -> None:
        raise _MarkupError("expected no document type")

    def start(self, name: str, values: Mapping[str, str]) -> None:
        """Take the beginning of an element."""

    def end(self, name: str) -> None:
        """Take the end of an element."""

    def text(self, text: str) -> None:
        """Take text of an element, perhaps a part of it."""


class _Text:
    """Text that is put together from pieces, up to a limit."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0

    def add(self, text: str) -> None:
        self._length += len(text)
        if self._length > MAX_TEXT:
            raise _MarkupError(f"expected a text of at most {MAX_TEXT:,} characters")
        self._pieces.append(text)

    def take(self) -> str:
        """Return the text, and begin another."""
        text = "".join(self._pieces)
        self._pieces.clear()
        self._length = 0
        return text


# --- what a sheet refers to ---------------------------------------------------------------------------------


class _Relations(_Markup):
    """Which members belong to another one: by identifier, and by the last word of their kind."""

    def __init__(self, archive: zipfile.ZipFile, of: str) -> None:
        super().__init__()
        self._folder, name = posixpath.split(of)
        self.by_id: dict[str, tuple[str, str]] = {}
        self.by_kind: dict[str, str] = {}
        self.read_whole(archive, posixpath.join(self._folder, "_rels", f"{name}.rels"))

    def start(self, name: str, values: Mapping[str, str]) -> None:
        if name == "Relationship" and values.get("TargetMode") != "External":
            kind = values.get("Type", "").rpartition("/")[2]
            place = posixpath.normpath(posixpath.join("/", self._folder, values.get("Target", "")))
            self.by_id[values.get("Id", "")] = kind, place[1:]
            self.by_kind.setdefault(kind, place[1:])


class _Book(_Markup):
    """The list of sheets, the shared strings and which formats are dates."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        super().__init__()
        place = _Relations(archive, "").by_kind.get("officeDocument", "xl/workbook.xml")
        if place not in archive.NameToInfo:
            raise _MarkupError("it has no workbook")
        self._relations = _Relations(archive, place)
        self._sheets: list[str] = []
        self.from_1904 = False
        self.read_whole(archive, place)
        found = (self._relations.by_id.get(key, ("", "")) for key in self._sheets)
        sheets = [name for kind, name in found if kind == "worksheet" and name in archive.NameToInfo]
        if not sheets:
            raise _MarkupError("expected a sheet, got none")
        self.sheet = sheets[0]
        self.strings = _Strings(archive, self._relations.by_kind.get("sharedStrings")).found
        self.dates = _Styles(archive, self._relations.by_kind.get("styles")).dates()

    def start(self, name: str, values: Mapping[str, str]) -> None:
        if name == "sheet":
            self._sheets += [value for key, value in values.items() if key.endswith(" id")]
        elif name == "workbookPr":
            self.from_1904 = values.get("date1904", "0") in ("1", "true")


class _Strings(_Markup):
    """The shared strings; what says how to pronounce them is left out."""

    def __init__(self, archive: zipfile.ZipFile, name: str | None) -> None:
        super().__init__()
        self.found: list[str] = []
        self._text, self._in_text, self._in_phonetic = _Text(), False, False
        self.read_whole(archive, name)

    def start(self, name: str, values: Mapping[str, str]) -> None:  # noqa: ARG002
        self._in_text = name == "t" and not self._in_phonetic
        self._in_phonetic = self._in_phonetic or name == "rPh"

    def end(self, name: str) -> None:
        self._in_text = False
        if name == "rPh":
            self._in_phonetic = False
        elif name == "si":
            self.found.append(self._text.take().strip())

    def text(self, text: str) -> None:
        if self._in_text:
            self._text.add(text)


class _Styles(_Markup):
    """The formats of numbers that cells may have."""

    def __init__(self, archive: zipfile.ZipFile, name: str | None) -> None:
        super().__init__()
        self._of_dates, self._formats, self._in_cells = set(_DATE_FORMATS), list[int](), False
        self.read_whole(archive, name)

    def dates(self) -> set[str]:
        """Return the styles of cells with dates, as cells name them."""
        return {str(style) for style, code in enumerate(self._formats) if code in self._of_dates}

    def start(self, name: str, values: Mapping[str, str]) -> None:
        if name == "cellXfs":
            self._in_cells = True
        elif name == "xf" and self._in_cells:
            self._formats.append(_whole(values.get("numFmtId", "0")))
        elif name == "numFmt":
            code = values.get("formatCode", "").partition(";")[0]
            if re.search("[dmhysDMHYS]", _NOT_OF_DATES.sub("", code)):
                self._of_dates.add(_whole(values.get("numFmtId", "0")))

    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._in_cells = False


def _whole(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10):
        raise _MarkupError(f"expected a whole number, got {text[:20]!r}")
    return int(text)


# --- cells --------------------------------------------------------------------------------------------------


class _Sheet(_Markup):
    """The cells of a sheet, row by row."""

    def __init__(self, book: _Book) -> None:
        super().__init__()
        self._book = book
        self._done: list[dict[int, str]] = []
        self._cells: dict[int, str] = {}
        self._place, self._kind, self._style = -1, "n", ""
        self._text, self._in_text = _Text(), False

    def rows(self, archive: zipfile.ZipFile) -> Iterator[dict[int, str]]:
        """Yield the cells of each row that has one, by column from 0."""
        for _ in self.read(archive, self._book.sheet):
            yield from self._done
            self._done.clear()

    def start(self, name: str, values: Mapping[str, str]) -> None:
        if name == "row":
            self._cells, self._place = {}, -1
        elif name == "c":
            self._place = self._place + 1 if "r" not in values else _column(values["r"])
            if self._place >= MAX_COLUMNS:
                raise _MarkupError(f"expected at most {MAX_COLUMNS:,} columns, got more")
            self._kind, self._style = values.get("t", "n"), values.get("s", "0")
        self._in_text = name == ("t" if self._kind == "inlineStr" else "v")

    def end(self, name: str) -> None:
        self._in_text = False
        if name == "c":
            text = self._value(self._text.take())
            if text:
                self._cells[self._place] = text
        elif name == "row" and self._cells:
            self._done.append(self._cells)

    def text(self, text: str) -> None:
        if self._in_text:
            self._text.add(text)

    def _value(self, text: str) -> str:
        """Return the value of a cell as a csv file would hold it."""
        if self._kind == "s" and text:
            place = _whole(text.strip())
            if place >= len(self._book.strings):
                raise _MarkupError(f"expected one of {len(self._book.strings):,} strings, got {place:,}")
            return self._book.strings[place]
        if self._kind == "b" and text:
            return str(text.strip() not in ("0", "false"))
        if self._kind == "n" and text:
            return self._number(text.strip())
        return text.strip().removesuffix("T00:00:00")  # of text, of errors, and of dates in words

    def _number(self, text: str) -> str:
        if not re.fullmatch(r"[-+]?[0-9.]{1,400}([eE][-+]?[0-9]{1,3})?", text):
            raise _MarkupError(f"expected a number, got {text[:20]!r}")
        value = float(text)
        if self._style in self._book.dates:
            return _date(value, self._book.from_1904) or text
        if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        return text if re.fullmatch("[-+]?[0-9]+", text) else str(value)


def _column(cell: str) -> int:
    """Return the column of a cell, from 0."""
    found = _CELL.fullmatch(cell)
    if found is None:
        raise _MarkupError(f"expected a cell such as A1, got {cell[:20]!r}")
    place = 0
    for letter in found[1]:
        place = 26 * place + ord(letter) - ord("A") + 1
    return place - 1


def _date(days: float, from_1904: bool) -> str:
    """Return a date, a time or both; "" for a number that is none."""
    epoch = _EPOCHS[from_1904]
    if not from_1904 and 1 <= days < 60:  # Excel has a 29 February 1900
        days += 1
    try:
        when = epoch + timedelta(milliseconds=round(days * 86_400_000))
    except OverflowError:
        return ""
    if 0 <= days < 1:
        return when.time().isoformat()
    return when.date().isoformat() if when.time() == when.min.time() else when.isoformat()
