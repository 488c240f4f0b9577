"""Finds words in texts as people read them: whatever the case of the letters, also beyond ASCII."""

from __future__ import annotations

from collections.abc import Sequence

_BEFORE = 36  # characters of a snippet before the first word that was found
_SNIPPET_LENGTH = 180


def wanted_words(words: str) -> tuple[str, ...]:
    """What is to be looked for, each once, with letters as `occur` compares them."""
    return tuple(dict.fromkeys(words.casefold().split()))


def occur(words: Sequence[str], folded: str) -> bool:
    """Whether all of them stand in a text that is case-folded already."""
    return all(word in folded for word in words)


def snippet_of(text: str, words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A line around the first of the words that stand in the text, and where they stand in that line."""
    folded, origins = _fold(text)
    places = [place for word in words if (place := folded.find(word)) >= 0]
    begin = max(0, origins[min(places)] - _BEFORE) if places else 0
    if begin:  # not in the middle of a word, where one ends nearby
        space = max(text.find(" ", begin, begin + _BEFORE), text.find("\n", begin, begin + _BEFORE))
        begin = space + 1 if 0 <= space < begin + _BEFORE // 2 else begin
    end = begin + _SNIPPET_LENGTH
    line = " ".join(text[begin:end].split())
    line = ("…" if begin else "") + line + ("…" if end < len(text) else "")
    return line, _marks(line, words)


def _marks(line: str, words: Sequence[str]) -> tuple[tuple[int, int], ...]:
    folded, origins = _fold(line)
    marked = bytearray(len(line))
    for word in words:
        place = folded.find(word)
        while place >= 0:
            first, last = origins[place], origins[place + len(word) - 1]
            marked[first : last + 1] = b"\1" * (last + 1 - first)
            place = folded.find(word, place + len(word))
    marks = []
    begin = marked.find(1)
    while begin >= 0:
        end = marked.find(0, begin)
        end = len(line) if end < 0 else end
        marks.append((begin, end - begin))
        begin = marked.find(1, end)
    return tuple(marks)


def _fold(text: str) -> tuple[str, Sequence[int]]:
    """The text case-folded, and of which character each of its characters comes: ß becomes ss."""
    folded = text.casefold()
    if text.isascii():
        return folded, range(len(text))
    origins = [index for index, character in enumerate(text) for _ in character.casefold()]
    return folded, origins
