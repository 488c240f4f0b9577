"""Texts that record which of their characters people or models said and which the chat template wrote."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

_WRITTEN, _SAID, _PICTURE = b"\0", b"\1", b"\2"
_IN_DIGITS, _FROM_DIGITS = bytes.maketrans(b"\0\1\2", b"012"), bytes.maketrans(b"012", b"\0\1\2")
_STANDS_FOR_PICTURE = "\ufffc"


class PromptText(str):
    """A text with a byte in `said` for each character: 1 if it comes from a message, 0 if the template wrote it, 2 if
    it stands for a picture.

    Python's own methods return plain texts, which count as written by the template. The functions below keep the
    record, as do the methods of `TracedText`.
    """

    __slots__ = ("said",)
    said: bytes

    def __new__(cls, text: str, said: bytes | None = None) -> Self:
        """Counts all of the text as said if `said` is not given."""
        self = super().__new__(cls, text)
        self.said = _SAID * len(text) if said is None else said
        return self


def with_pictures(number: int, text: str) -> PromptText:
    """The text of a message, preceded by its pictures."""
    return PromptText(_STANDS_FOR_PICTURE * number + text, _PICTURE * number + _SAID * len(text))


def num_pictures_in(text: str) -> int:
    return said_in(text).count(_PICTURE)


def around_pictures(text: PromptText) -> list[PromptText]:
    """The texts before, between and after the pictures: one more than there are pictures."""
    texts = []
    start = 0
    while (place := text.said.find(_PICTURE, start)) >= 0:
        texts.append(PromptText(text[start:place], text.said[start:place]))
        start = place + 1
    return [*texts, PromptText(text[start:], text.said[start:]) if start else text]


def said_in(text: str) -> bytes:
    return text.said if isinstance(text, PromptText) else _WRITTEN * len(text)


def joined(parts: Iterable[str], kind: type[PromptText] = PromptText) -> str:
    parts = list(parts)
    text = "".join(parts)
    if not any(isinstance(each, PromptText) for each in parts):
        return text
    return kind(text, b"".join(map(said_in, parts)))


def part(text: str, key: int | slice) -> str:
    found = str.__getitem__(text, key)
    if not isinstance(text, PromptText):
        return found
    return PromptText(found, text.said[key] if isinstance(key, slice) else bytes((text.said[key],)))


def as_json(value: Any) -> Any:
    """A value of a template as JSON can hold it: said texts with who wrote each character, dictionaries as pairs."""
    match value:
        case PromptText():
            return {"text": str.__str__(value), "said": value.said.translate(_IN_DIGITS).decode()}
        case dict():
            return {"pairs": [[as_json(key), as_json(each)] for key, each in value.items()]}
        case list() | tuple():
            return [as_json(each) for each in value]
    return value


def from_json(data: Any) -> Any:
    """The value that `as_json` was given, with lists in place of tuples."""
    match data:
        case {"text": text, "said": said}:
            return PromptText(text, said.encode().translate(_FROM_DIGITS))
        case {"pairs": pairs}:
            return {from_json(key): from_json(each) for key, each in pairs}
        case list():
            return [from_json(each) for each in data]
    return data
