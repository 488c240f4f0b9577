"""Reads a large JSON file value by value, so that no more than one conversation is in memory at once."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, Protocol

from engine.errors import ChatsUnreadable

MOST_BYTES = 512 * 2**20  # of a file
MOST_CHARACTERS = 32 * 2**20  # of one value in it

_AT_ONCE = 2**20
_LONGEST_WORD = 64  # a number, an escape, or a word such as `false`
_SPACE = re.compile(r"[ \t\n\r]*")


class Bytes(Protocol):
    def read(self, size: int, /) -> bytes: ...


class JsonStream:
    """The text of a file, of which only what was not taken yet is held.

    Every method raises ChatsUnreadable where the file is no JSON, no UTF-8, or too large.
    """

    def __init__(self, file: Bytes) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._scan = json.JSONDecoder().raw_decode
        self._held = ""
        self._at = 0
        self._num_bytes = 0
        self._ended = False

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            match = _SPACE.match(self._held, self._at)
            assert match is not None
            self._at = match.end()
            if self._at < len(self._held) or not self._more():
                return self._held[self._at : self._at + 1]

    def take(self, character: str) -> bool:
        """Takes this character if it comes next."""
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def expect(self, character: str) -> None:
        if not self.take(character):
            raise _damaged()

    def value(self) -> Any:
        """The next value, whatever it is."""
        self.peek()
        while True:
            try:
                value, end = self._scan(self._held, self._at)
            except ValueError as error:
                if self._is_damage(error) or not self._more():
                    raise _damaged() from error
                continue  # it is not here as a whole yet
            except RecursionError as error:
                raise ChatsUnreadable("The file is nested too deeply; choose one that a chat program wrote.") from error
            if end == len(self._held) and self._more():  # a number may go on
                continue
            self._at = end
            return value

    def elements(self) -> Iterator[Any]:
        """Of the array that comes next."""
        self.expect("[")
        if self.take("]"):
            return
        yield self.value()
        while self.take(","):
            yield self.value()
        self.expect("]")

    def object_keys(self) -> Iterator[str]:
        """Of the object that comes next; its value is to be taken after each."""
        self.expect("{")
        if self.take("}"):
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise _damaged()
            self.expect(":")
            yield key
            if not self.take(","):
                break
        self.expect("}")

    def _is_damage(self, error: ValueError) -> bool:
        """Whether reading on cannot mend it; what is cut off is complained about at its end, or where it begins."""
        return (
            isinstance(error, json.JSONDecodeError)
            and error.pos < len(self._held) - _LONGEST_WORD
            and not error.msg.startswith("Unterminated")
        )

    def _more(self) -> bool:
        """Reads on, as much again as is held. False at the end of the file."""
        if self._ended:
            return False
        if len(self._held) - self._at > MOST_CHARACTERS:
            raise ChatsUnreadable("A chat in the file is too large; choose a file that a chat program wrote.")
        raw = self._file.read(max(_AT_ONCE, len(self._held) - self._at))
        self._num_bytes += len(raw)
        if self._num_bytes > MOST_BYTES:
            raise ChatsUnreadable(f"The file is too large; chats are imported from at most {MOST_BYTES // 2**20} MB.")
        self._ended = not raw
        try:
            more = self._decode(raw, self._ended)
        except UnicodeDecodeError as error:
            raise ChatsUnreadable("The file is not in UTF-8; choose one as a chat program wrote it.") from error
        self._held = self._held[self._at :] + more
        self._at = 0
        return True


def _damaged() -> ChatsUnreadable:
    return ChatsUnreadable("The file is damaged or is no file of chats; export it again, or choose another one.")
