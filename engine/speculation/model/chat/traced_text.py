"""Texts that keep track of who wrote which character while a chat template works on them.

The methods of str return plain texts; those of `TracedText` return traced ones. If a method cannot tell which
characters of its result were said, all of them count as said, so that text is never mistaken for control.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, SupportsIndex

from engine.speculation.model.prompt_text import PromptText, joined


class TracedText(PromptText):
    __slots__ = ()

    def __str__(self) -> TracedText:  # jinja2 calls `str` on whatever it writes
        return self

    def __iter__(self) -> Iterator[str]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, key: SupportsIndex | slice) -> TracedText:
        found = str.__getitem__(self, key)
        return TracedText(found, self.said[key] if isinstance(key, slice) else bytes((self.said[key],)))

    def __add__(self, other: str) -> str:
        return concatenated((self, other)) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: str) -> str:
        return concatenated((other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> TracedText:
        return TracedText(str.__mul__(self, times), self.said * times)

    __rmul__ = __mul__

    def join(self, parts: Iterable[str]) -> str:
        return interleaved([*parts], self)

    def replace(self, old: str, new: str, count: SupportsIndex = -1) -> str:
        if not old:
            return TracedText(str.replace(self, old, new, count))
        return interleaved(self.split(old, count), new)

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._located(str.split(self, sep, maxsplit), len(sep or ""))

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._located(str.rsplit(self, sep, maxsplit), len(sep or ""))

    def splitlines(self, keepends: bool = False) -> list[str]:
        return self._located(str.splitlines(self, keepends))

    def partition(self, sep: str) -> tuple[str, str, str]:
        before, found, after = self._located(str.partition(self, sep))
        return before, found, after

    def rpartition(self, sep: str) -> tuple[str, str, str]:
        before, found, after = self._located(str.rpartition(self, sep))
        return before, found, after

    def _located(self, pieces: Sequence[str], gap: int = 0) -> list[str]:
        """Pieces of this text, traced; at least `gap` characters lie between them."""
        located: list[str] = []
        place = 0
        for piece in pieces:
            place = self.index(piece, place)
            located.append(self[place : place + len(piece)])
            place += len(piece) + gap
        return located

    def strip(self, chars: str | None = None) -> TracedText:
        return self.lstrip(chars).rstrip(chars)

    def lstrip(self, chars: str | None = None) -> TracedText:
        return self[len(self) - len(str.lstrip(self, chars)) :]

    def rstrip(self, chars: str | None = None) -> TracedText:
        return self[: len(str.rstrip(self, chars))]

    def removeprefix(self, prefix: str) -> TracedText:
        return self[len(prefix) :] if self.startswith(prefix) else self

    def removesuffix(self, suffix: str) -> TracedText:
        return self[: len(self) - len(suffix)] if self.endswith(suffix) else self


def _by_character(method: Callable[..., str]) -> Callable[..., TracedText]:
    """Traces a method of str that changes characters in place. If the length changes, all of the result was said."""

    def changed(text: TracedText, *arguments: Any) -> TracedText:
        result = method(text, *arguments)
        return TracedText(result, text.said if len(result) == len(text) else None)

    return changed


for _name in (
    *("capitalize", "casefold", "lower", "swapcase", "title", "upper"),
    *("center", "expandtabs", "ljust", "rjust", "translate", "zfill"),
):
    setattr(TracedText, _name, _by_character(getattr(str, _name)))


def concatenated(parts: Iterable[str]) -> str:
    """`"".join(parts)`."""
    return joined(parts, TracedText)


def interleaved(pieces: Sequence[str], separator: str) -> str:
    """`separator.join(pieces)`."""
    if not is_said((separator, pieces)):
        return separator.join(pieces)
    apart = [each for piece in pieces for each in (separator, piece)]
    return concatenated(apart[1:])


def made_of(result: Any, *sources: object) -> Any:
    """Marks all of a result as said if any of its sources was. Anything but a text is returned unchanged."""
    if not isinstance(result, str) or isinstance(result, TracedText):
        return result
    return TracedText(result) if is_said(sources) else str.__str__(result)


def is_said(value: object) -> bool:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, PromptText):
            return True
        if isinstance(each, dict):
            waiting += each
            waiting += each.values()
        elif isinstance(each, list | tuple):
            waiting += each
    return False


def traced(value: Any) -> Any:
    if isinstance(value, PromptText):
        return TracedText(value, value.said)
    if isinstance(value, dict):
        return {traced(key): traced(each) for key, each in value.items()}
    return [traced(each) for each in value] if isinstance(value, list) else value
