"""Makes texts and names fit for the store, and finds words in them as people read them: whatever the case of the
letters, also beyond ASCII."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import count

UNTITLED = "New chat"
TITLE_LENGTH = 200
_BEFORE = 36  # characters of a snippet before the first word found
_SNIPPET_LENGTH = 180
_WINDOW = 2**16  # characters that are case-folded at once
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


def holds_all(pieces: Iterable[str], words: Sequence[str]) -> bool:
    """True if a text that comes in pieces has all these case-folded words."""
    missing = tuple(words)
    for _, window in _windows(pieces, words):
        folded = window.casefold()
        missing = tuple(word for word in missing if word not in folded)
        if not missing:
            return True
    return not missing


def snippet_of(read: Callable[[], Iterable[str]], words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A line around the first of the words in the text, and where the words are in that line: starts and lengths.
    `read` gives the text in pieces, as often as it is called."""
    begin = max(0, _first_place(read(), words) - _BEFORE)
    text = _part(read(), begin, begin + _BEFORE + _SNIPPET_LENGTH + 1)
    start = 0
    if begin:  # not in the middle of a word, where one ends nearby
        space = max(text.find(" ", 0, _BEFORE), text.find("\n", 0, _BEFORE))
        start = space + 1 if 0 <= space < _BEFORE // 2 else 0
    end = start + _SNIPPET_LENGTH
    line = " ".join(text[start:end].split())
    line = ("…" if begin else "") + line + ("…" if end < len(text) else "")
    return line, _marks(line, words)


def _first_place(pieces: Iterable[str], words: Sequence[str]) -> int:
    """The character with which the first of the words begins; 0 where there is none."""
    places: dict[str, int] = {}
    for offset, window in _windows(pieces, words):
        folded = window.casefold()
        found = {word: at for word in words if word not in places and (at := folded.find(word)) >= 0}
        if found:
            _, origins = _fold(window)
            places |= {word: offset + origins[at] for word, at in found.items()}
            if len(places) == len(words):
                break
    return min(places.values(), default=0)


def _windows(pieces: Iterable[str], words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Parts of a text, with their places in it; a word that is in the text is in one of them. Folding all of a long
    text at once would keep other threads waiting, and take many times its memory."""
    overlap = max(map(len, words), default=1) - 1  # no character becomes none where it is folded
    length = max(_WINDOW, overlap)
    offset, window = 0, ""
    for piece in pieces:
        for start in range(0, len(piece), length):
            before = window[len(window) - overlap :] if overlap < len(window) else window
            offset += len(window) - len(before)
            window = before + piece[start : start + length]
            yield offset, window


def _part(pieces: Iterable[str], begin: int, end: int) -> str:
    """Those characters of a text."""
    found = []
    for piece in pieces:
        found.append(piece[max(0, begin) : max(0, end)])
        begin, end = begin - len(piece), end - len(piece)
        if end <= 0:
            break
    return "".join(found)


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
