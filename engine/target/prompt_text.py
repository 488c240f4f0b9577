"""Texts that know which of their characters people or models said, and which the chat template wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

_WRITTEN, _SAID, _PICTURE = b"\0", b"\1", b"\2"
_STANDS_FOR_PICTURE = "\ufffc"


class PromptText(str):
    """A text with, for each character, a byte in `said`: 1 where it stands in a message, 0 where the template wrote it,
    2 where it stands for a picture.

    Python's own methods return plain texts, which the template wrote; the functions below keep what was said.
    """

    __slots__ = ("said",)
    said: bytes

    def __new__(cls, text: str, said: bytes | None = None) -> Self:
        """All of it was said, if nothing is known."""
        self = super().__new__(cls, text)
        self.said = _SAID * len(text) if said is None else said
        return self


def with_pictures(number: int, text: str) -> PromptText:
    """What was said, behind so many pictures."""
    return PromptText(_STANDS_FOR_PICTURE * number + text, _PICTURE * number + _SAID * len(text))


def num_pictures_in(text: str) -> int:
    return said_in(text).count(_PICTURE)


def around_pictures(text: PromptText) -> list[PromptText]:
    """The texts before, between and behind the pictures of a text: one more than it has pictures."""
    texts = []
    start = 0
    while (place := text.said.find(_PICTURE, start)) >= 0:
        texts.append(PromptText(text[start:place], text.said[start:place]))
        start = place + 1
    return [*texts, PromptText(text[start:], text.said[start:]) if start else text]


def said_in(text: str) -> bytes:
    return text.said if isinstance(text, PromptText) else _WRITTEN * len(text)


def joined(parts: Iterable[str]) -> str:
    parts = list(parts)
    text = "".join(parts)
    return PromptText(text, b"".join(map(said_in, parts))) if _any_said(parts) else text


def part(text: str, key: int | slice) -> str:
    found = str.__getitem__(text, key)
    if not isinstance(text, PromptText):
        return found
    return PromptText(found, text.said[key] if isinstance(key, slice) else bytes((text.said[key],)))


def stripped(text: str, method: Callable[..., str], *characters: str | None) -> str:
    """`method`: str's strip, lstrip or rstrip."""
    bare = method(text, *characters)
    start = 0 if method is str.rstrip else len(text) - len(str.lstrip(text, *characters))
    return part(text, slice(start, start + len(bare)))


def split(text: str, method: Callable[..., Sequence[str]], *arguments: Any) -> Sequence[str]:
    """`method`: one of str that takes a text apart from left to right."""
    pieces = method(text, *arguments)
    if not isinstance(text, PromptText):
        return pieces
    separator = arguments[0] if arguments and method in (str.split, str.rsplit) else None
    located: list[str] = []
    place = 0
    for piece in pieces:
        place = text.index(piece, place)
        located.append(part(text, slice(place, place + len(piece))))
        place += len(piece) + len(separator or "")
    return located


def replaced(text: str, old: str, new: str, count: int = -1) -> str:
    if not _any_said((text, new)):
        return text.replace(old, new, count)
    if not old:
        return PromptText(text.replace(old, new, count))
    return interleaved(split(text, str.split, old, count), new)


def interleaved(pieces: Sequence[str], separator: str) -> str:
    """`separator.join(pieces)`."""
    if not _any_said((separator, *pieces)):
        return separator.join(pieces)
    return part(joined(each for piece in pieces for each in (separator, piece)), slice(len(separator), None))


def recased(text: str, method: Callable[[str], str]) -> str:
    """`method`: str's upper, lower and the like. Where the length changes, all of it counts as said."""
    result = method(text)
    if not isinstance(text, PromptText):
        return result
    return PromptText(result, text.said if len(result) == len(text) else None)


def made_of(result: str, *sources: object) -> str:
    """All of a result was said, if any of its sources was."""
    return PromptText(result) if _any_said(sources) else result


def _any_said(values: Iterable[object]) -> bool:
    return any(isinstance(value, PromptText) for value in values)
