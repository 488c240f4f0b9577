"""The origin of each character of a Markdown text, carried over to the characters that are shown of it.

Marks are a string with one letter for each character of the text: so they are cut, joined and normalised exactly
as the text is. An empty string of marks for a text that is not empty means that no colours are wanted.
Characters of undeclared origin (another version stored it) have the mark of the target.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import groupby
from string import ascii_letters

from app.text.translation import translate
from engine import origins
from engine.values.origins import TARGET, Origin
from engine.values.replies import OriginRun

_TARGET = "t"
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


def proposers(keys: Iterable[str] = ()) -> tuple[Origin, ...]:
    """The declared origins, then one named after each other key, without a colour."""
    declared = origins()
    unknown = {*keys} - {TARGET.key, *(origin.key for origin in declared)}
    return (*declared, *(Origin(key, key, "", "") for key in sorted(unknown)))


def label_of(origin: Origin) -> str:
    return translate("Origin", origin.label)


def marks_of(text: str, runs: Iterable[OriginRun]) -> str:
    """One mark per character, even where the runs are shorter or longer than the text."""
    letters = {origin.key: letter for letter, origin in _by_letter(proposers()).items()}
    marks = "".join(letters.get(run.origin, _TARGET) * run.num_characters for run in runs)
    return marks[: len(text)].ljust(len(text), _TARGET)


def shares_of(runs: Iterable[OriginRun]) -> dict[str, float]:
    """Shares of the characters, by the key of their origin; empty without any."""
    lengths = Counter[str]()
    for run in runs:
        lengths[run.origin] += run.num_characters
    return {key: length / lengths.total() for key, length in lengths.items() if length}


@cache
def _by_letter(declared: tuple[Origin, ...]) -> dict[str, Origin]:
    """Assigns each origin the first free letter of its key, or of the alphabet."""
    found: dict[str, Origin] = {}
    for origin in declared:
        letter = next(each for each in origin.key + ascii_letters if each not in found and each != _TARGET)
        found[letter] = origin
    return found


@dataclass(frozen=True, slots=True)
class MarkedSpan:
    """A part of one line of code; positions count characters."""

    start: int
    length: int
    origin: Origin


def spans_of(marks: str) -> tuple[MarkedSpan, ...]:
    """The parts of a line that proposers drafted."""
    known = _by_letter(proposers())
    return tuple(MarkedSpan(start, length, known[letter]) for letter, start, length in _runs(marks) if letter in known)


def _runs(marks: str) -> Iterator[tuple[str, int, int]]:
    """The letter, start and length of each run of one letter."""
    start = 0
    for letter, group in groupby(marks):
        length = len(list(group))
        yield letter, start, length
        start += length


class MarkedSource:
    """The source of a block, read from front to back while its HTML is written.

    The text that is shown of a line is in its source in the same order, with signs of Markdown in between. A piece that
    is not found there without skipping words is shown without colour: no colour is better than a wrong one.
    """

    def __init__(self, source: str, marks: str, first_line: int) -> None:
        """`first_line`: the number of the source's first line in the block's tokens."""
        self._source = source.replace("\n", " ")  # in code, a line end is shown as a space
        self._marks = marks
        self._first_line = first_line
        self._starts = [0]
        for line in source.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._at = 0
        self._end = len(source)

    def enter(self, lines: Sequence[int] | None, content: str) -> None:
        """Begins inline text on these lines (the first, and one past the last)."""
        if lines is not None:
            self._at = max(self._at, self._start_of(lines[0]))
            self._end = max(self._at, self._start_of(lines[1]))
        start = content.split("\n", 1)[0].rstrip()
        found = self._source.find(start, self._at, self._end)
        if found >= 0:
            self._at = found

    def html(self, shown: str, written: str = "") -> str:
        """The HTML of shown text; `written`: its source, if that differs."""
        marks = self._take(written or shown)
        if not marks:
            return escape(shown)
        if written and len(written) != len(shown):  # an entity, or a sign that was escaped
            marks = marks[-1] * len(shown)
        return html_of(shown, marks)

    def whole(self, html: str, written: str) -> str:
        """The HTML of an indivisible part, in the colour of its main origin; `written`: its source."""
        marks = self._take(written.replace("\n", " "))
        known = _by_letter(proposers()).get(Counter(marks).most_common(1)[0][0]) if marks else None
        return f'<span class="{known.key}">{html}</span>' if known else html

    def end_link(self) -> None:
        """Skips the address, which is not shown."""
        end = _LINK_END.match(self._source, self._at, self._end)
        if end is not None:
            self._at = end.end()

    def lines(self, first: int, content: str) -> str:
        """The marks of code from this line on; line ends count as the target's."""
        marks = []
        for number, line in enumerate(content.split("\n"), start=first):
            begin, end = self._start_of(number), max(0, self._start_of(number + 1) - 1)
            found = self._source.rfind(line, begin, end)
            marks.append(self._marks[found : found + len(line)] if found >= 0 else _TARGET * len(line))
        return _TARGET.join(marks)

    def _take(self, text: str) -> str:
        found = self._source.find(text, self._at, self._end)
        if found < 0 or (len(text) < _SURE and _WORD.search(self._source, self._at, found)):
            return ""
        self._at = found + len(text)
        return self._marks[found : self._at]

    def _start_of(self, line: int) -> int:
        return self._starts[min(max(0, line - self._first_line), len(self._starts) - 1)]


def html_of(text: str, marks: str) -> str:
    """The HTML of a marked text; the style sheet has a class for each origin, under its key."""
    known = _by_letter(proposers())
    html: list[str] = []
    for letter, start, length in _runs(marks):
        part = escape(text[start : start + length])
        html.append(f'<span class="{known[letter].key}">{part}</span>' if letter in known else part)
    return "".join(html)
