"""Who guessed which characters of a Markdown text, carried over to the characters that are shown of it.

Marks are a string beside the text, with one letter for each of its characters: so they are cut, joined and normalised
exactly as the text is. An empty string of marks beside a text that is not empty means that nobody asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from engine.messages.replies import Origin, OriginRun

_LETTERS = {Origin.TARGET: "t", Origin.DRAFTER: "d", Origin.RECALL: "r"}
_CLASSES = {"d": "drafter", "r": "recall"}  # of the style sheet; what the target thought of itself has none
_SURE = 8  # characters; a piece as long as that is found again by chance hardly ever
_WORD = re.compile(r"[^\W_]")
_LINK_END = re.compile(
    r"""(?: [^\w\[\]] | _ )* \]
    (?: \( \s* (?: <[^<>\n]*> | [^\s()]* (?: \( [^\s()]* \) [^\s()]* )* )            # the address
           (?: \s+ (?: "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | \((?:\\.|[^()\\])*\) ) )? \s* \)  # and a title
      | \[ [^\[\]]* \]                                                                 # or the name of a definition
    )?""",
    re.VERBOSE,
)


def marks_of(text: str, origins: Iterable[OriginRun]) -> str:
    """As long as the text, also where the runs are not."""
    marks = "".join(_LETTERS[run.origin] * run.num_characters for run in origins)
    return marks[: len(text)].ljust(len(text), _LETTERS[Origin.TARGET])


def shares_of(origins: Iterable[OriginRun]) -> dict[Origin, float]:
    """Of the characters; empty where there are none."""
    lengths = dict.fromkeys(Origin, 0)
    for run in origins:
        lengths[run.origin] += run.num_characters
    total = sum(lengths.values())
    return {origin: length / total for origin, length in lengths.items()} if total else {}


@dataclass(frozen=True, slots=True)
class MarkedSpan:
    """A part of one line of code; positions count characters."""

    start: int
    length: int
    origin: Origin


def spans_of(marks: str) -> tuple[MarkedSpan, ...]:
    """What others than the target thought of, in a line with these marks."""
    spans = []
    start = 0
    for letter, group in groupby(marks):
        length = len(list(group))
        if letter in _CLASSES:
            spans.append(MarkedSpan(start, length, Origin(_CLASSES[letter])))
        start += length
    return tuple(spans)


class MarkedSource:
    """The source of a block, read from front to back while its HTML is written.

    What is shown of a line stands in its source in the same order, with marks of Markdown in between. A piece that is
    not found there without passing over words is shown without colour: rather none than a wrong one.
    """

    def __init__(self, source: str, marks: str, first_line: int) -> None:
        """`first_line`: the number of the source's first line, as the block's tokens count them."""
        self._source = source.replace("\n", " ")  # in code, a line end is shown as a space
        self._marks = marks
        self._first_line = first_line
        self._starts = [0]
        for line in source.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._at = 0
        self._end = len(source)

    def enter(self, lines: Sequence[int] | None, content: str) -> None:
        """Inline text begins, which takes these lines (the first, and one behind the last)."""
        if lines is not None:
            self._at = max(self._at, self._start_of(lines[0]))
            self._end = max(self._at, self._start_of(lines[1]))
        start = content.split("\n", 1)[0].rstrip()
        found = self._source.find(start, self._at, self._end)
        if found >= 0:
            self._at = found

    def html(self, shown: str, written: str = "") -> str:
        """The HTML of text that is shown; `written`: how it stands in the source, where that differs."""
        marks = self._take(written or shown)
        if not marks:
            return escape(shown)
        if written and len(written) != len(shown):  # an entity, or a sign that was escaped
            marks = marks[-1] * len(shown)
        return html_of(shown, marks)

    def end_link(self) -> None:
        """Goes over the address, which is not shown."""
        end = _LINK_END.match(self._source, self._at, self._end)
        if end is not None:
            self._at = end.end()

    def lines(self, first: int, content: str) -> str:
        """The marks of code whose first line has that number; those of line ends are the target's."""
        marks = []
        for number, line in enumerate(content.split("\n"), start=first):
            begin, end = self._start_of(number), max(0, self._start_of(number + 1) - 1)
            found = self._source.rfind(line, begin, end)
            marks.append(self._marks[found : found + len(line)] if found >= 0 else "t" * len(line))
        return "t".join(marks)

    def _take(self, text: str) -> str:
        found = self._source.find(text, self._at, self._end)
        if found < 0 or (len(text) < _SURE and _WORD.search(self._source, self._at, found)):
            return ""
        self._at = found + len(text)
        return self._marks[found : self._at]

    def _start_of(self, line: int) -> int:
        return self._starts[min(max(0, line - self._first_line), len(self._starts) - 1)]


def html_of(text: str, marks: str) -> str:
    """The HTML of a text with as many marks."""
    html: list[str] = []
    start = 0
    for letter, group in groupby(marks):
        part = escape(text[start : (start := start + len(list(group)))])
        html.append(f'<span class="{_CLASSES[letter]}">{part}</span>' if letter in _CLASSES else part)
    return "".join(html)
