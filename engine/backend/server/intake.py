"""A JSON body as it arrives: counted before it is parsed, since little text can become much memory.

What is parsed at once is text of a few MiB with some ten thousand values, which takes milliseconds. Long strings of
nothing but base64, as pictures are, are put aside as bytes; a short name stands for them in the text.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.backend.server.refusals import RequestRefused, invalid, unread

_DEEPEST = 100  # arrays and objects within each other
_LONG = 32_768  # bytes of a string that may be put aside
_MOST_ASIDE, _LARGEST_ASIDE = 64, 20 << 20  # such strings, and bytes of one: copying it must not take long
_WIDEST = 4  # bytes that a character takes in memory, where one in the same string is an emoji
_VALUE_BYTES = 256  # in memory, with what is made of it, about
_WHOLE = re.compile(rb'(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+', re.DOTALL)  # of a string, up to its end
_LONGEST_ESCAPE = len(rb"\u0000")
_BASE64 = re.compile(rb"(?:data:[\w.+/-]{1,80};base64,)?[A-Za-z0-9+/=]*+")


@dataclass(frozen=True, slots=True)
class Most:
    """What one body may have."""

    text_bytes: int
    aside_bytes: int  # 0: nothing is put aside
    values: int


class Intake:
    """`feed` takes what arrives, part by part, and `finish` parses it."""

    def __init__(self, most: Most) -> None:
        self._most = most
        self._text = bytearray()
        self._num_values = self._depth = 0
        self._cut = b""  # an escape of which the end is missing
        self._string: int | None = None  # where in the text the string begins that is being read
        self._is_words = False  # it is too long for a name, and no base64
        self._filling: bytearray | None = None  # where it is put aside
        self._name = secrets.token_hex(16)  # which no client can guess and write
        self.aside: dict[str, bytearray] = {}

    @property
    def num_bytes(self) -> int:
        """Bytes of memory that it takes, about, now and when it is parsed."""
        return _WIDEST * len(self._text) + _VALUE_BYTES * self._num_values + self._num_aside

    @property
    def _num_aside(self) -> int:
        return sum(map(len, self.aside.values())) + len(self._filling or b"")

    def feed(self, data: bytes) -> None:
        """Raises RequestRefused."""
        data, self._cut, place = self._cut + data, b"", 0
        while place < len(data):
            if self._string is None:
                place = self._take_outside(data, place)
            else:
                match = _WHOLE.match(data, place)
                assert match is not None
                self._take(match[0])
                place = match.end()
                if data.startswith(b'"', place):
                    self._end_string()
                    place += 1
                elif len(data) - place >= _LONGEST_ESCAPE:
                    raise invalid("The body of this request is no JSON: a text in it has an escape that there is not.")
                else:
                    self._cut, place = data[place:], len(data)
            if len(self._text) > self._most.text_bytes:
                raise self._too_long()
            if self._num_values > self._most.values:
                raise unread(413, f"This request has more than {self._most.values:,} values; send fewer, longer ones.")

    def finish(self) -> dict[str, Any]:
        """The names in `aside` stand for what was put aside. Raises RequestRefused."""
        if not self._text:
            raise invalid("This request has no body; send a JSON object.")
        try:
            found = json.loads(self._text, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            reason = f": {error.msg} at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
            raise invalid(f"The body of this request is no JSON{reason}.") from None
        if not isinstance(found, dict):
            raise invalid("The body of this request must be a JSON object.")
        self._text.clear()
        others = self.aside.keys() - set(_of_pictures(found))
        return self._with_texts(found, others) if others else found

    def _take_outside(self, data: bytes, start: int) -> int:
        """Takes what stands between two strings; returns where the next begins, or the data end."""
        quote = data.find(b'"', start)
        end = len(data) if quote < 0 else quote + 1
        piece = data[start:end]
        num_opened = piece.count(b"[") + piece.count(b"{")
        self._num_values += num_opened + piece.count(b",") + (quote >= 0)
        if self._depth + num_opened > _DEEPEST and self._num_values <= self._most.values:
            self._check_depth(piece)
        self._depth += num_opened - piece.count(b"]") - piece.count(b"}")
        self._text += piece
        self._string = None if quote < 0 else len(self._text)
        return end

    def _check_depth(self, piece: bytes) -> None:
        depth = self._depth
        for byte in piece:
            depth += (byte in b"[{") - (byte in b"]}")
            if depth > _DEEPEST:
                raise invalid(
                    f"The body of this request has more than {_DEEPEST} arrays and objects within each other."
                )

    def _take(self, piece: bytes) -> None:
        """Takes a piece of a string, in which every escape is whole."""
        if self._filling is not None:
            plain = _unescaped(piece)
            if plain is not None and _BASE64.fullmatch(plain):
                self._filling += plain
                if self._num_aside > self._most.aside_bytes:
                    raise unread(413, f"The pictures in this request are larger than {_said(self._most.aside_bytes)}.")
                if len(self._filling) > _LARGEST_ASIDE:
                    raise unread(413, f"A picture in this request is larger than {_said(_LARGEST_ASIDE)}.")
                return
            self._text += self._filling
            self._filling, self._is_words = None, True
        self._text += piece
        assert self._string is not None
        if self._most.aside_bytes and not self._is_words and len(self._text) - self._string > _LONG:
            plain = _unescaped(bytes(self._text[self._string :]))
            self._is_words = plain is None or not _BASE64.fullmatch(plain) or len(self.aside) == _MOST_ASIDE
            if plain is not None and not self._is_words:
                self._filling = bytearray(plain)
                del self._text[self._string :]

    def _end_string(self) -> None:
        if self._filling is not None:
            name = f"{self._name}{len(self.aside)}"
            self.aside[name], self._filling = self._filling, None
            self._text += name.encode()
        self._text += b'"'
        self._string, self._is_words = None, False

    def _with_texts(self, found: Any, names: set[str]) -> Any:
        """Puts back the strings of these names, which were texts, not pictures. Raises RequestRefused."""
        if sum(len(self.aside[name]) for name in names) > self._most.text_bytes:
            raise self._too_long()
        texts = {name: self.aside.pop(name).decode() for name in names}

        def told(value: Any) -> Any:
            if isinstance(value, str):
                return texts.get(value, value)
            if isinstance(value, list):
                return [told(each) for each in value]
            return {told(key): told(each) for key, each in value.items()} if isinstance(value, dict) else value

        return told(found)

    def _too_long(self) -> RequestRefused:
        return unread(413, f"This request has more than {_said(self._most.text_bytes)} of text.", is_too_long=True)


def _unescaped(piece: bytes) -> bytes | None:
    """Some clients write the signs of base64 with escapes; None where these mean nothing."""
    if b"\\" not in piece:
        return piece
    try:
        text: str = json.loads(b'"' + piece + b'"', strict=False)
    except ValueError:
        return None
    return text.encode("utf-8", "replace")


def _of_pictures(found: dict[str, Any]) -> Iterator[str]:
    """What stands where a picture may: in a message, or in the result of a tool."""
    for message in (*_listed(found, "messages"), *_listed(found, "input")):
        for part in (*_listed(message, "content"), *_listed(message, "output")):
            for each in (part, *_listed(part, "content")):
                yield from _of_part(each)


def _of_part(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        url, source = part.get("image_url"), part.get("source")
        url = url.get("url") if isinstance(url, dict) else url
        data = source.get("data") if isinstance(source, dict) and source.get("type") != "text" else None
        yield from (each for each in (url, data) if isinstance(each, str))


def _listed(found: Any, key: str) -> list[Any]:
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, list) else []


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _said(num_bytes: int) -> str:
    return f"{num_bytes / 2**20:.3g} MiB"
