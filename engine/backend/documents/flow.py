"""The text of a document as it is read: paragraphs, pages, and tables as Markdown, those of CSV files too."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from engine.backend.documents.limits import check_length, check_pages
from engine.values.passages import with_pages

_MOST_SPANNED = 100  # columns of a cell
_SPACES = re.compile(r"[ \t\r\n\f]+")
_BREAKS = re.compile(r"\s*\n\s*")


@dataclass(slots=True)
class _Cell:
    columns: int = 1
    text: str = ""


class Flow:
    """Takes what a reader of a format meets, in its order. Tables inside of tables become text of their cells. Raises
    Unreadable where it is too much."""

    def __init__(self) -> None:
        self._pages: list[list[str]] = [[]]
        self._paragraph: list[str] = []
        self._rows: list[list[_Cell]] = []
        self._depth = 0  # of tables
        self._breaks = 0  # of pages, in the table
        self._length = 0

    def add(self, text: str) -> None:
        self._length += len(text)
        check_length(self._length)
        self._paragraph.append(text)

    def end_paragraph(self, prefix: str = "", is_exact: bool = False) -> bool:
        """Returns False if there was no paragraph. Unless `is_exact`, a run of blanks becomes one."""
        whole = "".join(self._paragraph)
        text = whole.strip("\n") if is_exact else _SPACES.sub(" ", whole).strip()
        self._paragraph = []
        if not text:
            return False
        if not self._depth:
            self._pages[-1].append(prefix + text)
        elif self._rows and self._rows[-1]:
            cell = self._rows[-1][-1]
            cell.text = f"{cell.text} {text}" if cell.text else text
        return True

    def begin_table(self) -> None:
        self.end_paragraph()
        self._depth += 1

    def begin_row(self) -> None:
        self.end_paragraph()
        if self._depth == 1:
            self._rows.append([])

    def begin_cell(self) -> None:
        self.end_paragraph()
        if self._depth == 1 and self._rows:
            self._rows[-1].append(_Cell())
            self.span(1)

    def span(self, columns: int) -> None:
        """Makes the cell span this many columns."""
        if self._depth == 1 and self._rows and self._rows[-1]:
            self._rows[-1][-1].columns = columns = max(1, min(_MOST_SPANNED, columns))
            self._length += columns
            check_length(self._length)

    def end_table(self) -> None:
        self.end_paragraph()
        self._depth = max(0, self._depth - 1)
        if self._depth:
            return
        rows = [[text for cell in row for text in (cell.text, *[""] * (cell.columns - 1))] for row in self._rows]
        self._rows = []
        if table := markdown_table(rows):
            self._pages[-1].append(table)
        for _ in range(self._breaks):
            self._pages.append([])
        self._breaks = 0

    def break_page(self) -> None:
        """Begins a page of the document as it was last laid out; inside a table, after the table."""
        if self._depth:
            self._breaks += 1
            return
        self.end_paragraph()
        self._pages.append([])
        check_pages(len(self._pages))

    @property
    def text(self) -> str:
        """The whole text, with page marks if there are several pages."""
        while self._depth:
            self.end_table()
        self.end_paragraph()
        texts = ["\n\n".join(parts) for parts in self._pages]
        return with_pages(texts) if len(texts) > 1 and any(texts) else "".join(texts)


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """The first row is the head. What has one column is no table: its cells are paragraphs."""
    rows = [row for row in rows if any(row)]
    width = max((len(row) for row in rows), default=0)
    if width < 2:
        return "\n\n".join(row[0] for row in rows)
    lines = [_row([*rows[0], *[""] * (width - len(rows[0]))]), "|" + "---|" * width, *map(_row, rows[1:])]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_BREAKS.sub(" ", cell.strip()).replace("|", r"\|") for cell in cells) + " |"


_SEPARATORS = ",;\t|"
_SEPARATOR_SAID = re.compile(r'\A"?sep=([^\r\n"])"?[ \t]*(?:\r?\n|\r|\Z)', re.IGNORECASE)  # as Excel has it
_LINES_TRIED = 20


def read_table(text: str) -> str:
    """Raises Unreadable where it is too much."""
    check_length(len(text))
    csv.field_size_limit(len(text) + 1)
    said = _SEPARATOR_SAID.match(text)
    separator, text = (said[1], text[said.end() :]) if said else (_separator(text), text)
    return markdown_table(list(csv.reader(StringIO(text, newline=""), delimiter=separator)))


def _separator(text: str) -> str:
    """What splits the first lines most evenly; a comma where nothing does."""
    lines = [line for line in text[:100_000].split("\n", _LINES_TRIED)[:_LINES_TRIED] if line.strip()]

    def evenness(separator: str) -> tuple[int, int]:
        numbers = Counter(line.count(separator) for line in lines)
        number, times = max(numbers.items(), key=lambda each: each[1], default=(0, 0))
        return (times if number else 0), number

    return max(_SEPARATORS, key=evenness)
