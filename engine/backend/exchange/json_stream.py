"""Reads a large JSON file value by value: no more than one conversation is in memory at once, and of that only the
fields that are read. Everything is counted as it comes, because a small archive may unpack to more than any memory
holds.

What is wrong with one conversation leaves that one out; what is wrong with the file as JSON refuses it.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

import ijson

from engine.values.conversations import LeftOut
from engine.values.errors import FileUnusable

MOST_BYTES = 512 * 2**20  # of a file
MOST_EVENTS = 40_000_000  # of the parser, for all files of an archive: two or three for each value; about a minute
# Of one string, as it is in the file; of a longer one, a picture as a rule, the rest is not parsed. The parser scans a
# string again whenever more of it comes, and other threads wait meanwhile: for hundredths of a second.
MOST_STRING_BYTES = 4 * 2**20
MOST_TEXT_BYTES = 64 * 2**20  # of all strings of a conversation, as Python holds them: up to four for a character
MOST_KEPT = 600_000  # values of a conversation: thirty of each of the most messages that are read
NAMED = frozenset({"mapping", "messages"})  # fields whose value, where it is an object, has names in place of fields
WHOLE = frozenset(
    {"input", "arguments", "parameters"}
)  # fields of which everything is kept: what a tool is called with
TITLES = ("title", "name")
PIECES = "base64"  # the field whose strings are not kept in memory
_MOST_DEPTH = 1000
_MOST_READ = 2**20  # bytes at once
_REST = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)  # of a string, up to its end
_HEX = "[0-9a-fA-F]"
_HIGH, _LOW = rf"\\u[dD][89abAB]{_HEX}{{2}}", rf"\\u[dD][c-fC-F]{_HEX}{{2}}"  # the halves of a surrogate pair, escaped
_PAIRED = re.compile(rf"(?:[^\\]++|\\[^u]|\\u(?![dD][89a-fA-F]){_HEX}{{4}}|{_HIGH}{_LOW})*+", re.DOTALL)
_LONE = re.compile(rf"{_HIGH}|{_LOW}")
_HALF = re.compile(rf"\\?|\\u{_HEX}{{0,3}}|{_HIGH}(?:\\|\\u(?:[dD](?:[c-fC-F]{_HEX}?)?)?)?")  # more is to follow
_LONGEST_ESCAPE = 12  # characters: a pair
_REPLACED = r"\ufffd"
_NO_UTF8 = "\ufdd0\ufdd1\ufdd0"  # in place of such bytes; these stand for no characters, so no program writes them
_TOO_LONG = object()  # in place of such a string
_DEEPER = {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}
_MARKING = "slipstream-exchange"  # how a decoder is to put `_NO_UTF8` there


def _marked(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _NO_UTF8, error.end


codecs.register_error(_MARKING, _marked)


class Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Flawed:
    """Stands for a value that is left out."""

    why: LeftOut
    title: str = ""


class _Flaw(Exception):
    """Raised at an event of the parser; nothing is kept of the object or list that begins with it."""

    def __init__(self, why: LeftOut, event: str) -> None:
        super().__init__(why)
        self.why = why
        self.opens = _DEEPER.get(event) == 1


class _Keeps(Enum):
    """What is kept of an object."""

    FIELDS = auto()  # those that are read
    NAMES = auto()  # all names; of what they stand for, the fields
    ALL = auto()

    @staticmethod
    def of(key: str, event: str, above: _Keeps) -> _Keeps:
        """What is kept of the value of a field of an object of which `above` is kept."""
        if above is _Keeps.ALL or (above is _Keeps.FIELDS and key in WHOLE):
            return _Keeps.ALL
        named = above is _Keeps.FIELDS and key in NAMED and event == "start_map"
        return _Keeps.NAMES if named else _Keeps.FIELDS


class JsonStream:
    """The parser's events, and the values built from them. The parser reads the file through it, which enforces limits.

    Raises FileUnusable where the file is no JSON or too large, and what `check` raises, which is called as the file is
    read.
    """

    def __init__(
        self,
        file: Bytes,
        fields: frozenset[str],
        check: Callable[[], None] = lambda: None,
        num_events: int = 0,
        put_aside: Callable[[str], Any] = lambda _piece: None,
    ) -> None:
        """Other `fields` of objects are left out. `num_events`: of files that were read before. `put_aside`: what
        stands in place of a string of `PIECES`, which does not count as one of its conversation."""
        self._file = file
        self._fields = fields
        self._check = check
        self._put_aside = put_aside
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(_MARKING).decode
        self._num_bytes = 0
        self._event_ended = 0
        self._begun: list[Any] = []  # objects and lists of the value being built, each in the one before
        self.num_kept = 0  # values of the conversation
        self.text_bytes = 0  # of its strings
        self._is_cut = False  # the string that the parser is in
        self._half = ""  # an escape that began at the end of what was read
        self._is_utf8 = True
        self.num_events = num_events
        self.events = self._parsed()

    def _parsed(self) -> Iterator[tuple[str, Any]]:
        try:
            for event in ijson.basic_parse(self, multiple_values=True, use_float=True):
                self._event_ended = self._num_bytes
                if self._is_cut:
                    self._is_cut = False
                    event = event[0], _TOO_LONG  # noqa: PLW2901
                self.num_events += 1
                if self.num_events > MOST_EVENTS:
                    raise FileUnusable("The file contains too many values; choose one that a chat program wrote.")
                yield event
        except (ijson.JSONError, ValueError) as error:  # the second of a number with thousands of digits
            if not self._is_utf8:
                raise FileUnusable("The file is not in UTF-8; choose it as a chat program wrote it.") from error
            raise FileUnusable(
                "The file is damaged or contains no chats; export it again, or choose another one."
            ) from error

    def begin(self) -> None:
        """Another conversation begins: its values are counted from here."""
        self.num_kept = self.text_bytes = 0

    def value(self, event: str, value: Any, key: str = "") -> Any:
        """The value that begins with this event; `Flawed` where it is damaged or too large. `key`: of the object that
        it is in."""
        try:
            return self._built(event, value, key)
        except _Flaw as flaw:
            depth = len(self._begun) + flaw.opens
            whole = self._begun[0] if self._begun else None
            title = next(filter(None, map(whole.get, TITLES)), None) if isinstance(whole, dict) else None
            whole, self._begun = None, []
            self.begin()
            return Flawed(flaw.why, self._title_in_rest(depth, title))

    def _built(self, event: str, value: Any, key: str) -> Any:
        self._begun = begun = []
        whole = self._kept(event, value, key)
        begun += [whole] if event in _DEEPER else []
        keeps: list[_Keeps] = [_Keeps.FIELDS, _Keeps.of(key, event, _Keeps.FIELDS)]  # for each that is begun
        while begun:
            event, value = next(self.events)
            into = begun[-1]
            if _DEEPER.get(event) == -1:
                begun.pop()
                keeps.pop()
            elif event == "map_key":
                if keeps[-1] is not _Keeps.FIELDS:
                    key = self._kept(event, value)
                elif value in self._fields:
                    key = sys.intern(value)
                else:
                    self.skip()
            else:
                new = self._kept(event, value, key)
                if isinstance(into, list):
                    into.append(new)
                    here: _Keeps = keeps[-1] if keeps[-1] is _Keeps.ALL else _Keeps.FIELDS
                else:
                    into[key] = new
                    here = _Keeps.of(key, event, keeps[-1])
                if event in _DEEPER:
                    begun.append(new)
                    keeps.append(here)
        return whole

    def _title_in_rest(self, depth: int, title: Any) -> str:
        """Reads over the rest of a value, which is so deep in objects and lists."""
        key = ""
        while depth:
            event, value = next(self.events)
            depth += _DEEPER.get(event, 0)
            if depth == 1 and event == "map_key":
                key = value
            elif depth == 1 and event == "string" and key in TITLES:
                title = value
        return title if isinstance(title, str) and _NO_UTF8 not in title else ""

    def skip(self) -> None:
        """Reads over the next value."""
        depth = 0
        while True:
            depth += _DEEPER.get(next(self.events)[0], 0)
            if not depth:
                return

    def _kept(self, event: str, value: Any, key: str = "") -> Any:
        self.num_kept += 1
        is_piece = key == PIECES and event == "string"
        if is_piece:
            value = None if value is _TOO_LONG else self._put_aside(value)
        elif isinstance(value, str):
            self.text_bytes += sys.getsizeof(value)
            if not self._is_utf8 and _NO_UTF8 in value:
                raise _Flaw(LeftOut.UNREADABLE, event)
        if self.num_kept > MOST_KEPT or self.text_bytes > MOST_TEXT_BYTES or value is _TOO_LONG:
            raise _Flaw(LeftOut.TOO_LARGE, event)
        if len(self._begun) == _MOST_DEPTH and event in _DEEPER:
            raise _Flaw(LeftOut.UNREADABLE, event)
        return {} if event == "start_map" else [] if event == "start_array" else value

    def read(self, size: int) -> bytes:
        """Called by the parser, which scans a string from its beginning whenever more of it comes: a long one comes in
        larger pieces."""
        size = max(size, min(self._num_bytes - self._event_ended, _MOST_READ))
        while True:
            self._check()
            raw = self._file.read(size)
            self._num_bytes += len(raw)
            if self._num_bytes > MOST_BYTES:
                raise FileUnusable(
                    "The file is too large; chat files may have at most {most} MB.", most=MOST_BYTES // 2**20
                )
            text = self._decode(raw, not raw)
            self._is_utf8 = self._is_utf8 and _NO_UTF8 not in text
            text = self._with_whole_escapes(text, not raw)
            if self._num_bytes - self._event_ended > MOST_STRING_BYTES:  # in a string that is too long
                self._is_cut = True
                text = text[_REST.match(text).end() :]  # type: ignore[union-attr]
            if text or not raw:  # no text yet: the beginning of a character, or inside such a string
                return text.encode()

    def _with_whole_escapes(self, text: str, is_last: bool) -> str:
        """Holds half an escape at the end of the text back for the next call. Unpaired halves of surrogate pairs become
        U+FFFD, as in the store: the parser would stop at them, or make another character of them."""
        text, self._half = self._half + text, ""
        if "\\" not in text:
            return text
        pieces, begin = [], 0
        while True:
            end = _PAIRED.match(text, begin).end()  # type: ignore[union-attr]
            pieces.append(text[begin:end])
            if not is_last and len(text) - end < _LONGEST_ESCAPE and _HALF.fullmatch(text, end):
                self._half = text[end:]
            elif lone := _LONE.match(text, end):
                pieces.append(_REPLACED)
                begin = lone.end()
                continue
            else:
                pieces.append(text[end:])  # nothing, or what the parser refuses
            return "".join(pieces)
