"""PDF as text, by PDFium: pages, and on each what belongs together.

PDFium tells characters in the order in which the page draws them, in lines. Here lines that were broken because the
next word had no room become paragraphs again, and rows of cells become tables. No scripts are run: this build of PDFium
has no JavaScript. Lengths are in points.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ctypes import byref, c_double
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import BinaryIO

import pypdfium2
from pypdfium2 import raw

from engine.backend.documents.flow import markdown_table
from engine.backend.documents.limits import Unreadable, check_length, check_pages, damaged, encrypted
from engine.values.passages import with_pages

_HYPHEN = 2  # PDFium's code for one that a line was broken at
_WIDE = 1.5  # heights of letters: a gap between cells
_PARAGRAPH_GAP = 1.45  # usual distances between lines
_SAME_MARGIN = 60.0
_INDENT = 3.0
_LEAST_ROWS = 3
_COLUMN_ROWS, _COLUMN_CHARACTERS = 8, 25  # side by side, as columns of text are
_POINT = re.compile(r"[^\w\s]|\(?\w{1,3}[.)]")  # before an item of a list
_LEADER = re.compile(r"(\. ?){4}")


@dataclass(frozen=True, slots=True)
class _PdfCell:
    left: float
    right: float
    text: str


@dataclass(frozen=True, slots=True)
class _Line:
    cells: tuple[_PdfCell, ...]
    middle: float  # how high it stands
    first_width: float  # of its first word
    is_broken: bool  # in the middle of a word

    @property
    def text(self) -> str:
        return " ".join(cell.text for cell in self.cells)

    @property
    def left(self) -> float:
        return self.cells[0].left

    @property
    def right(self) -> float:
        return self.cells[-1].right


def read_pdf(file: BinaryIO) -> str:
    """Raises Unreadable."""
    try:
        document = pypdfium2.PdfDocument(file)
    except pypdfium2.PdfiumError as error:
        raise (encrypted() if error.err_code == raw.FPDF_ERR_PASSWORD else damaged()) from error
    check_pages(len(document))
    pages: list[str] = []
    length = 0
    for index in range(len(document)):
        pages.append(_page(document, index))
        length += len(pages[-1])
        check_length(length)
    if not any(pages):
        raise Unreadable("{name} has no text, only pictures of its pages; run text recognition (OCR) on it first.")
    return with_pages(pages)


def _page(document: pypdfium2.PdfDocument, index: int) -> str:
    """Empty for a page that is damaged; the others may be read."""
    try:
        page = document[index]
        text = page.get_textpage()
    except pypdfium2.PdfiumError:
        return ""
    try:
        return _in_order(list(_lines(text)))
    finally:
        text.close()
        page.close()


def _lines(page: pypdfium2.PdfTextPage) -> Iterator[_Line]:
    handle = page.raw
    codes = [raw.FPDFText_GetUnicode(handle, index) for index in range(page.count_chars())]
    words: list[tuple[int, int]] = []  # first character and the one after the last
    start: int | None = None
    for index, code in enumerate([*codes, 10]):
        if code > 32 and code not in (0xA0, 0xFFFE, 0xFFFF):
            start = index if start is None else start
            continue
        if start is not None:
            words.append((start, index))
            start = None
        if code in (10, 13, _HYPHEN, 0xFFFE) and words:
            yield _line(handle, codes, words, code in (_HYPHEN, 0xFFFE))
            words = []


def _line(handle: object, codes: Sequence[int], words: Sequence[tuple[int, int]], is_broken: bool) -> _Line:
    cells: list[_PdfCell] = []
    height = middle = first_width = 0.0
    for begin, end in words:
        left, right, bottom, top = (c_double() for _ in range(4))
        raw.FPDFText_GetCharBox(handle, begin, byref(left), byref(right), byref(bottom), byref(top))
        word_left, low, high = left.value, bottom.value, top.value
        raw.FPDFText_GetCharBox(handle, end - 1, byref(left), byref(right), byref(bottom), byref(top))
        text = "".join(map(chr, codes[begin:end])).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if not cells:
            middle, first_width = (low + high) / 2, right.value - word_left
        height = max(height, high - low)
        before = cells[-1] if cells else None
        is_apart = before is not None and word_left - before.right > _WIDE * height
        if before is None or (is_apart and not (len(cells) == 1 and _POINT.fullmatch(before.text))):
            cells.append(_PdfCell(word_left, right.value, text))
        else:
            cells[-1] = _PdfCell(before.left, right.value, f"{before.text} {text}")
    return _Line(tuple(cells), middle, first_width, is_broken)


def _in_order(lines: Sequence[_Line]) -> str:
    pitch = median([abs(a.middle - b.middle) for a, b in pairwise(lines)] or [0.0])
    parts: list[str] = []
    index = 0
    before: _Line | None = None
    while index < len(lines):
        end = index
        while end < len(lines) and len(lines[end].cells) > 1:
            end += 1
        if block := _side_by_side(lines[index:end]):
            parts += ["\n\n", block, "\n\n"]
            before, index = None, end
            continue
        line = lines[index]
        if before is not None:
            parts.append(_between(before, line, pitch, lines))
        parts.append(line.text)
        before, index = line, index + 1
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).strip()


def _between(line: _Line, following: _Line, pitch: float, lines: Sequence[_Line]) -> str:
    """What stands between two lines: nothing in a word, a blank in a paragraph."""
    if line.is_broken:
        return ""
    if abs(line.middle - following.middle) > _PARAGRAPH_GAP * pitch:
        return "\n\n"
    margin = max(each.right for each in lines if abs(each.left - line.left) < _SAME_MARGIN)
    had_room = line.right + following.first_width + _INDENT < margin
    begins = following.left > line.left + _INDENT or _POINT.fullmatch(following.text.split(" ", 1)[0])
    return "\n" if had_room or begins or _LEADER.search(line.text) else " "


def _side_by_side(rows: Sequence[_Line]) -> str:
    """A table in Markdown, or columns of text one after the other; empty: it is neither."""
    columns = _columns(rows)
    if len(columns) < 2 or len(rows) < _LEAST_ROWS:
        return ""
    if any(_LEADER.search(row.text) for row in rows):
        return ""
    table = [["" for _ in columns] for _ in rows]
    for cells, row in zip(table, rows, strict=True):
        for cell in row.cells:
            place = next(number for number, (left, right) in enumerate(columns) if left <= cell.left <= right)
            cells[place] = f"{cells[place]} {cell.text}".strip()
    long = [len(cell) >= _COLUMN_CHARACTERS for cells in table for cell in cells]
    if len(columns) == 2 and len(rows) >= _COLUMN_ROWS and sum(long) > 0.6 * len(long):
        return "\n\n".join(" ".join(cells[place] for cells in table).strip() for place in (0, 1))
    return markdown_table(table)


def _columns(rows: Sequence[_Line]) -> list[tuple[float, float]]:
    """Where cells overlap from row to row."""
    columns: list[tuple[float, float]] = []
    for left, right in sorted((cell.left, cell.right) for row in rows for cell in row.cells):
        if columns and left <= columns[-1][1]:
            columns[-1] = (columns[-1][0], max(right, columns[-1][1]))
        else:
            columns.append((left, right))
    return columns
