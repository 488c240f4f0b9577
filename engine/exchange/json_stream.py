"""Reads a large JSON file value by value, so that no more than one conversation is in memory at once, and of that only
what somebody reads. Everything is counted as it comes: a small archive may hold what would fill any memory.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import ijson

from engine.errors import FileUnusable
from engine.sentences import template

MOST_BYTES = 512 * 2**20  # of a file
MOST_EVENTS = 40_000_000  # of the parser, for all files of an archive: two or three for each value; about a minute
MOST_VALUE_BYTES = 64 * 2**20  # of one conversation, with all that nobody reads
# Of one string, as it is in the file; of a longer one, a picture as a rule, the rest is not parsed. The parser scans a
# string again whenever more of it comes, and other threads wait meanwhile: for hundredths of a second.
MOST_STRING_BYTES = 4 * 2**20
MOST_TEXT_BYTES = 64 * 2**20  # of all strings of a conversation, as Python holds them: up to four for a character
MOST_KEPT = 300_000  # values of a conversation: fifteen of each of the most messages that are read
NAMED = "mapping"  # the field whose value is an object with names in place of fields
PIECES = "base64"  # the field whose strings are not kept in memory
_TOO_LARGE = template("A chat in the file is too large; choose a file without it.")
_MOST_DEPTH = 1000
_MOST_READ = 2**20  # bytes at once
_OUTSIDE = re.compile(r'[^"\\/a-fA-Fnrtu0-9]')  # a character that is not part of an escape
_REST = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)  # of a string, up to its end or to half an escape
_TOO_LONG = object()  # in place of such a string
_DEEPER = {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}


class Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...


class JsonStream:
    """The parser's events, and the values built from them. The parser reads the file through it, which enforces limits.

    Raises FileUnusable where the file is no JSON, no UTF-8, or too large, and what `check` raises, which is called
    as the file is read.
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
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._num_bytes = 0
        self._value_began = 0
        self._event_ended = 0
        self._num_kept = 0  # of the value being built
        self._text_bytes = 0
        self._is_cut = False  # the string that the parser is in
        self._half = ""  # an escape of that string, which began at the end of what was read
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
            raise FileUnusable(
                "The file is damaged or contains no chats; export it again, or choose another one."
            ) from error

    def begin(self) -> None:
        """Another conversation begins: its values are counted from here."""
        self._value_began = self._num_bytes
        self._num_kept = self._text_bytes = 0

    def value(self, event: str, value: Any, key: str = "") -> Any:
        """The value that begins with this event. `key`: of the object that it is in."""
        whole = self._kept(event, value, key)
        begun = [whole] if event in _DEEPER else []  # objects and lists, each in the one before
        named = whole if key == NAMED else None  # the object that has names
        while begun:
            event, value = next(self.events)
            into = begun[-1]
            if _DEEPER.get(event) == -1:
                begun.pop()
            elif event == "map_key":
                if into is named:
                    key = self._kept(event, value)
                elif value in self._fields:
                    key = sys.intern(value)
                else:
                    self.skip()
            else:
                new = self._kept(event, value, key)
                if isinstance(into, list):
                    into.append(new)
                else:
                    into[key] = new
                    named = new if key == NAMED and event == "start_map" and into is not named else named
                if event in _DEEPER:
                    begun.append(new)
                if len(begun) > _MOST_DEPTH:
                    raise FileUnusable("The file is nested too deeply; choose one that a chat program wrote.")
        return whole

    def skip(self) -> None:
        """Reads over the next value."""
        depth = 0
        while True:
            depth += _DEEPER.get(next(self.events)[0], 0)
            if not depth:
                return

    def _kept(self, event: str, value: Any, key: str = "") -> Any:
        self._num_kept += 1
        is_piece = key == PIECES and event == "string"
        if is_piece and value is not _TOO_LONG:
            self._value_began += len(value)
            value = self._put_aside(value)
        elif is_piece:
            value = None
        if isinstance(value, str):
            self._text_bytes += sys.getsizeof(value)
        if self._num_kept > MOST_KEPT or self._text_bytes > MOST_TEXT_BYTES or value is _TOO_LONG:
            raise FileUnusable(_TOO_LARGE)
        return {} if event == "start_map" else [] if event == "start_array" else value

    def read(self, size: int) -> bytes:
        """For the parser, which scans a string from its beginning whenever more of it comes: a long one comes in larger
        pieces."""
        self._check()
        size = max(size, min(self._num_bytes - self._event_ended, _MOST_READ))
        while True:
            raw = self._file.read(size)
            self._num_bytes += len(raw)
            if self._num_bytes > MOST_BYTES:
                raise FileUnusable(
                    "The file is too large; chat files may have at most {most} MB.", most=MOST_BYTES // 2**20
                )
            if self._num_bytes - self._value_began > MOST_VALUE_BYTES:
                raise FileUnusable(_TOO_LARGE)
            try:
                text = self._decode(raw, not raw)
            except UnicodeDecodeError as error:
                raise FileUnusable("The file is not in UTF-8; choose it as a chat program wrote it.") from error
            if self._num_bytes - self._event_ended > MOST_STRING_BYTES:
                text = self._without_rest(text)
            if text or not raw:  # no text yet: the beginning of a character, or inside a string that is too long
                return text.encode()

    def _without_rest(self, text: str) -> str:
        """What of this text the parser gets, which is inside a string that is too long."""
        begin = 0
        if not self._is_cut:
            place = _OUTSIDE.search(text)
            if place is None or 0 <= text.find('"') < place.end():  # it may begin inside an escape: next time
                if self._num_bytes - self._event_ended > 2 * MOST_STRING_BYTES:
                    raise FileUnusable(_TOO_LARGE)
                return text
            self._is_cut, begin = True, place.end()
        rest = self._half + text[begin:]
        end = _REST.match(rest).end()  # type: ignore[union-attr]
        self._half = rest[end:] if rest[end : end + 1] == "\\" else ""
        return text[:begin] + ("" if self._half else rest[end:])
