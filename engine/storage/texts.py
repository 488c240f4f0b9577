"""Makes texts and names fit for the store, and finds words in them as people read them: whatever the case of the
letters, also beyond ASCII."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from itertools import count

UNTITLED = "New chat"
TITLE_LENGTH = 200
_BEFORE = 36  # characters of a snippet before the first word found
_SNIPPET_LENGTH = 180
_SURROGATES = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """Lone surrogates, which UTF-8 cannot hold, become U+FFFD; everything else stays, NUL included."""
    try:
        text.encode()  # in a fraction of the time that a search takes
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


def one_line(text: str) -> str:
    return " ".join(encodable(text).splitlines()).strip()


def fit_title(text: str) -> str:
    return one_line(text.lstrip()[: 2 * TITLE_LENGTH])[:TITLE_LENGTH].strip() or UNTITLED


def unique(name: str, taken: Container[str]) -> str:
    """The name, or where it is taken "name (2)" and so on."""
    if name not in taken:
        return name
    return next(numbered for number in count(2) if (numbered := f"{name} ({number})") not in taken)


def wanted_words(words: str) -> tuple[str, ...]:
    """The words to search for, each once, case-folded."""
    return tuple(dict.fromkeys(words.casefold().split()))


def snippet_of(text: str, words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A line around the first of the words in the text, and where the words are in that line: starts and lengths."""
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
        for found in re.finditer(re.escape(word), folded):
            first, last = origins[found.start()], origins[found.end() - 1]
            marked[first : last + 1] = b"\1" * (last + 1 - first)
    return tuple((found.start(), len(found[0])) for found in re.finditer(b"\1+", marked))


def _fold(text: str) -> tuple[str, Sequence[int]]:
    """The text case-folded, and for each of its characters the one it comes from: ß becomes ss."""
    folded = text.casefold()
    if text.isascii():
        return folded, range(len(text))
    origins = [index for index, character in enumerate(text) for _ in character.casefold()]
    return folded, origins
