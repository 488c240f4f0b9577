"""Tables of Excel (xlsx) and OpenDocument (ods), each sheet as a table of Markdown under its name. Of formulas the
results are read, as they were last computed; hidden sheets are left out."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import BinaryIO
from zipfile import ZipFile

from engine.backend.documents.flow import markdown_table
from engine.backend.documents.limits import check_length, damaged, encrypted, too_much
from engine.backend.documents.office import OLE, opened, parse, parse_content

_MOST_COLUMNS = 500  # of a sheet; further ones are left out
_MOST_REPEATED = 1_000  # times of one row or cell
_MOST_SHEETS = 500
_MOST_DAYS = 2_958_465  # of a date: the end of the year 9999
_DATES = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})  # formats that all files know
_PERCENTS = frozenset({9, 10})
_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.')  # what is no code in a format


class Sheet:
    """Rows of cells. Raises Unreadable where it is too much."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: list[list[str]] = []
        self._length = 0

    def put(self, column: int, text: str, times: int = 1) -> None:
        """Puts a text into the last row, from this column on."""
        row = self.rows[-1]
        if not text or column >= _MOST_COLUMNS:
            return
        times = min(times, _MOST_COLUMNS - column)
        self._length += (len(text) + 1) * times + max(0, column - len(row))
        check_length(self._length)
        row += [""] * (column - len(row))
        row[column : column + times] = [text] * times

    def repeat(self, times: int) -> None:
        """Has the last row several times, if there is anything in it."""
        row = self.rows[-1]
        if any(row) and times > 1:
            self._length += sum(len(each) + 1 for each in row) * (times - 1)
            check_length(self._length)
            self.rows += [row] * (times - 1)

    @property
    def text(self) -> str:
        table = markdown_table(self.rows)
        return f"## {self.name}\n\n{table}" if table and self.name else table


def read_xlsx(file: BinaryIO) -> str:
    """Raises Unreadable."""
    if file.read(4) == OLE:
        raise encrypted()
    with opened(file) as archive:
        book = _Book()
        parse(archive, "xl/workbook.xml", book.start)
        places = places_of(archive, "xl/workbook.xml")
        names = frozenset(archive.namelist())
        texts, formats = _Texts(), _Formats()
        if "xl/sharedStrings.xml" in names:
            parse(archive, "xl/sharedStrings.xml", texts.start, texts.end, texts.text)
        if "xl/styles.xml" in names:
            parse(archive, "xl/styles.xml", formats.start)
        sheets: list[Sheet] = []
        unnamed = iter(parts_like(archive, r"xl/worksheets/[^/]+\.xml"))  # where the book does not say which is which
        for name, reference in book.sheets:
            place = places.get(reference, "") or next(unnamed, "")
            if place in names:
                reader = _Cells(Sheet(name), texts.found, formats, book.is_from_1904)
                parse(archive, place, reader.start, reader.end, reader.text)
                sheets.append(reader.sheet)
    return _together(sheets)


def read_ods(file: BinaryIO) -> str:
    """Raises Unreadable."""
    reader = _OpenCells()
    parse_content(file, reader.start, reader.end, reader.text)
    return _together(reader.sheets)


def places_of(archive: ZipFile, part: str) -> dict[str, str]:
    """The parts of the archive that this one refers to, by how it calls them."""
    folder, _, name = part.rpartition("/")
    listed = f"{folder}/_rels/{name}.rels"
    found: dict[str, str] = {}

    def start(tag: str, values: dict[str, str]) -> None:
        target = values.get("Target", "")
        if tag == "Relationship" and values.get("TargetMode") != "External":
            found[values.get("Id", "")] = target[1:] if target.startswith("/") else _joined(folder, target)

    if listed in archive.namelist():
        parse(archive, listed, start)
    return found


def parts_like(archive: ZipFile, pattern: str) -> list[str]:
    """The names of parts, in the order of the numbers in them."""
    found = [name for name in archive.namelist() if re.fullmatch(pattern, name)]
    return sorted(found, key=lambda name: ([int(number[-9:]) for number in re.findall(r"\d+", name)], name))


def _joined(folder: str, target: str) -> str:
    steps = folder.split("/") if folder else []
    for step in target.split("/"):
        if step == "..":
            steps = steps[:-1]
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)


def _together(sheets: list[Sheet]) -> str:
    texts = [sheet.text for sheet in sheets]
    if sum(map(bool, texts)) == 1 and len(sheets) == 1:
        return markdown_table(sheets[0].rows)
    return "\n\n".join(filter(None, texts))


class _Book:
    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []  # names, and how their parts are called
        self.is_from_1904 = False

    def start(self, tag: str, values: dict[str, str]) -> None:
        if tag == "sheet" and values.get("state", "visible") == "visible":
            if len(self.sheets) == _MOST_SHEETS:
                raise too_much()
            self.sheets.append((values.get("name", ""), values.get("r:id", "")))
        elif tag == "workbookPr":
            self.is_from_1904 = values.get("date1904") in ("1", "true")


class _Texts:
    """The texts that cells share, without the readings of Japanese ones."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._length = 0
        self._is_text = self._is_reading = False

    def start(self, tag: str, _values: dict[str, str]) -> None:
        if tag == "si":
            self.found.append("")
        self._is_reading |= tag == "rPh"
        self._is_text = tag == "t" and not self._is_reading

    def end(self, tag: str) -> None:
        self._is_text = False
        self._is_reading &= tag != "rPh"

    def text(self, text: str) -> None:
        if self._is_text and self.found:
            self._length += len(text)
            check_length(self._length)
            self.found[-1] += text


class _Formats:
    """Which styles of cells show dates or shares."""

    def __init__(self) -> None:
        self._codes: dict[int, str] = {}
        self._numbers: list[int] = []  # of the formats, by style
        self._is_inside = False

    def start(self, tag: str, values: dict[str, str]) -> None:
        if tag == "numFmt":
            self._codes[_number(values.get("numFmtId", ""))] = values.get("formatCode", "")[:1000]
        elif tag in ("cellXfs", "cellStyleXfs", "cellStyles"):
            self._is_inside = tag == "cellXfs"
        elif tag == "xf" and self._is_inside:
            self._numbers.append(_number(values.get("numFmtId", "")))

    def shown(self, value: str, style: int, is_from_1904: bool) -> str:
        """A number as people read it."""
        try:
            number = float(value)
        except ValueError:
            return value
        kind = self._numbers[style] if style < len(self._numbers) else 0
        code = _LITERAL.sub("", self._codes.get(kind, "").lower())
        if kind in _DATES or (code and re.search("[dyhs]|m{2,}", code) and "general" not in code):
            return _date(number, is_from_1904) or value
        return f"{number * 100:.10g} %" if kind in _PERCENTS or "%" in code else f"{number:.15g}"


def _date(number: float, is_from_1904: bool) -> str:
    if not 0 <= number < _MOST_DAYS:
        return ""
    first = datetime(1904, 1, 1) if is_from_1904 else datetime(1899, 12, 30)
    when = first + timedelta(seconds=round(number * 86_400))
    if number < 1:
        return when.strftime("%H:%M:%S").removesuffix(":00")
    return when.strftime("%Y-%m-%d" if number == int(number) else "%Y-%m-%d %H:%M")


class _Cells:
    """The cells of one sheet of Excel."""

    def __init__(self, sheet: Sheet, texts: list[str], formats: _Formats, is_from_1904: bool) -> None:
        self.sheet = sheet
        self._texts = texts
        self._formats = formats
        self._is_from_1904 = is_from_1904
        self._column = -1
        self._kind, self._style = "", 0
        self._is_value = self._is_hidden = False
        self._value: list[str] = []

    def start(self, tag: str, values: dict[str, str]) -> None:
        match tag:
            case "row":
                self.sheet.rows.append([])
                self._column, self._is_hidden = -1, values.get("hidden") in ("1", "true")
            case "c":
                named = re.match(r"[A-Z]{1,3}", values.get("r", ""))
                self._column = _place(named[0]) if named else self._column + 1
                self._kind, self._style = values.get("t", "n"), _number(values.get("s", ""))
                self._value = []
            case "v" | "t":
                self._is_value = True

    def end(self, tag: str) -> None:
        if tag in ("v", "t"):
            self._is_value = False
        elif tag == "c" and self.sheet.rows and not self._is_hidden:
            self.sheet.put(self._column, self._shown("".join(self._value)))

    def text(self, text: str) -> None:
        if self._is_value:
            self._value.append(text)

    def _shown(self, value: str) -> str:
        match self._kind:
            case "s":
                number = int(value) if value.isdecimal() and len(value) < 8 else -1
                return self._texts[number] if 0 <= number < len(self._texts) else ""
            case "b":
                return "TRUE" if value == "1" else "FALSE"
            case "n":
                return self._formats.shown(value, self._style, self._is_from_1904) if value else ""
        return value


class _OpenCells:
    """The cells of all sheets of OpenDocument, as it shows them."""

    def __init__(self) -> None:
        self.sheets: list[Sheet] = []
        self._column = self._times = self._rows = 0
        self._text: list[str] | None = None  # of the cell; None: outside of any
        self._num_left_out = 0  # comments, and shapes

    def start(self, tag: str, values: dict[str, str]) -> None:
        if tag in ("annotation", "shapes") or self._num_left_out:
            self._num_left_out += 1
            return
        match tag:
            case "table":
                if len(self.sheets) == _MOST_SHEETS:
                    raise too_much()
                self.sheets.append(Sheet(values.get("table:name", "")))
            case "table-row" if self.sheets:
                self.sheets[-1].rows.append([])
                self._column, self._rows = 0, _times(values.get("table:number-rows-repeated", ""))
            case "table-cell" | "covered-table-cell":
                self._text, self._times = [], _times(values.get("table:number-columns-repeated", ""))
            case "p" if self._text:
                self._text.append("\n")
            case "s" if self._text is not None:
                self._text.append(" ")

    def end(self, tag: str) -> None:
        if self._num_left_out:
            self._num_left_out -= 1
        elif tag in ("table-cell", "covered-table-cell") and self._text is not None and self.sheets:
            if not self.sheets[-1].rows:
                raise damaged()
            self.sheets[-1].put(self._column, "".join(self._text), min(self._times, _MOST_REPEATED))
            self._column += self._times
            self._text = None
        elif tag == "table-row" and self.sheets and self.sheets[-1].rows:
            self.sheets[-1].repeat(min(self._rows, _MOST_REPEATED))

    def text(self, text: str) -> None:
        if self._text is not None and not self._num_left_out:
            self._text.append(text)


def _place(letters: str) -> int:
    """The number of a column, from 0 on."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


def _number(value: str) -> int:
    return int(value) if value.isdecimal() and len(value) < 8 else 0


def _times(value: str) -> int:
    return max(1, _number(value))
