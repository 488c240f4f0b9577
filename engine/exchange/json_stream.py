"""Reads a large JSON file value by value, so that no more than one conversation is in memory at once."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import ijson

from engine.errors import FileUnusable

MOST_BYTES = 512 * 2**20  # of a file
MOST_VALUE_BYTES = 64 * 2**20  # of one value in it
_MOST_DEPTH = 1000
_DEEPER = {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}


class Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...


class JsonStream:
    """The parser's events, and the values built from them. The parser reads the file through it, which enforces limits.

    Raises FileUnusable where the file is no JSON, no UTF-8, or too large, and what `check` raises, which is called
    as the file is read.
    """

    def __init__(self, file: Bytes, check: Callable[[], None] = lambda: None) -> None:
        self._file = file
        self._check = check
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._num_bytes = 0
        self._value_began = 0
        self.events = self._parsed()

    def _parsed(self) -> Iterator[tuple[str, Any]]:
        try:
            yield from ijson.basic_parse(self, multiple_values=True, use_float=True)
        except (ijson.JSONError, ValueError) as error:  # the second of a number with thousands of digits
            raise FileUnusable(
                "The file is damaged or is no file of chats; export it again, or choose another one."
            ) from error

    def value(self, event: str, value: Any) -> Any:
        """The value that begins with this event."""
        self._value_began = self._num_bytes
        builder = ijson.ObjectBuilder()
        builder.event(event, value)
        depth = _DEEPER.get(event, 0)
        while depth:
            event, value = next(self.events)
            builder.event(event, value)
            depth += _DEEPER.get(event, 0)
            if depth > _MOST_DEPTH:
                raise FileUnusable("The file is nested too deeply; choose one that a chat program wrote.")
        return builder.value

    def read(self, size: int) -> bytes:
        """For the parser."""
        self._check()
        while True:
            raw = self._file.read(size)
            self._num_bytes += len(raw)
            if self._num_bytes > MOST_BYTES:
                raise FileUnusable(f"The file is too large; chats are imported from at most {MOST_BYTES // 2**20} MB.")
            if self._num_bytes - self._value_began > MOST_VALUE_BYTES:
                raise FileUnusable("A chat in the file is too large; choose a file that a chat program wrote.")
            try:
                text = self._decode(raw, not raw)
            except UnicodeDecodeError as error:
                raise FileUnusable("The file is not in UTF-8; choose one as a chat program wrote it.") from error
            if text or not raw:  # no text yet: the beginning of a character
                return text.encode()
