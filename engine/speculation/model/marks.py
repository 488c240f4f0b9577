"""Special tokens in prompts: only what the chat template wrote is special. In what people and models said, the same
letters are text.

llama.cpp's own chat does likewise: its template engine notes which parts of a prompt are input, and special tokens are
parsed in the others. Here a prompt in which nobody said a mark is tokenized in one go; in others, only the stretch
between two of the template's own marks in which one was said is tokenized apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property

from engine.speculation.model.prompt_text import part, said_in

_WINDOW = 100_000  # characters searched before others may have Python's lock
_LONGEST = 256  # bytes of a mark: no model has one of a third of this
_LAST_OF_BASIC, _BEYOND_BASIC, _NEVER = "\uffff", "\U00010000-\U0010ffff", "(?!)"
_SPACES = " \t\n\v\f\r"  # that llama.cpp drops beside some tokens

Tokenize = Callable[[str, bool], list[int]]  # tokens of a text; the flag: whether special ones in it are recognised


class Marks:
    """The texts of special tokens ("marks")."""

    def __init__(self, texts: Mapping[int, bytes], pieces: Sequence[bytes]) -> None:
        """`texts`: of the special tokens. `pieces`: of all tokens, by id."""
        self._texts, self._pieces = texts, pieces
        short = (data.decode("utf-8", "ignore") for data in texts.values() if len(data) <= _LONGEST)
        names = set(filter(None, short))
        self._longest = _longest(names)
        self._steps = [1 << bit for bit in reversed(range(max(map(len, names), default=0).bit_length()))]
        self._begins = re.compile(_begins(names))

    def __contains__(self, token: int) -> bool:
        return token in self._texts

    def find(self, text: str) -> Iterator[tuple[int, int, bool]]:
        """Where a mark begins and ends, the longest at each place, and whether any of it was said. Those that the
        template wrote do not overlap."""
        if not self._longest:
            return
        said, place = said_in(text), 0
        for start in range(0, len(text), _WINDOW):
            for found in self._begins.finditer(text, start, start + _WINDOW + 1):
                begin = found.start()
                length = self._length(text, begin) if place <= begin < start + _WINDOW else 0
                if length:
                    is_said = 1 in said[begin : begin + length]
                    place = begin + 1 if is_said else begin + length
                    yield begin, begin + length, is_said

    def _length(self, text: str, begin: int) -> int:
        """Of the longest mark there; 0 if there is none. See `_longest`."""
        known = 0
        for step in self._steps:
            if text[begin : begin + known + step] in self._longest:
                known += step
        return self._longest[text[begin : begin + known]] if known else 0

    def tokens_of(self, text: str, tokenize: Tokenize) -> list[int]:
        """Tokens of a text in which marks are special where nobody said them."""
        tokens: list[int] = []
        done = after_mark = 0  # what is tokenized, and the end of the template's last mark
        mark, someone_said_one = "", False
        for begin, end, is_said in (*self.find(text), (len(text), len(text), False)):
            if is_said:
                someone_said_one = True
                continue
            if someone_said_one:
                tokens += tokenize(str(part(text, slice(done, after_mark))), True) if after_mark > done else ()
                tokens += self._plain(_bare(text[after_mark:begin], mark, text[begin:end], tokenize), tokenize)
                done = begin
            mark, after_mark, someone_said_one = text[begin:end], end, False
        return tokens + (tokenize(str(part(text, slice(done, None))), True) if done < len(text) else [])

    def _plain(self, text: str, tokenize: Tokenize) -> list[int]:
        """Some tokenizers put a special token together out of its parts, or look whole words up."""
        data = text.encode("utf-8", "replace")

        @cache
        def bare(token: int) -> list[int]:
            mark = self._texts.get(token)
            return [token] if mark is None or mark not in data else self._spelled(mark)

        return [each for token in (tokenize(text, False) if text else ()) for each in bare(token)]

    def _spelled(self, mark: bytes) -> list[int]:
        """In the longest tokens that are not special themselves; what has none is left out."""
        tokens: list[int] = []
        place = 0
        while place < len(mark):
            ends = range(min(len(mark), place + _LONGEST), place, -1)
            end = next((end for end in ends if mark[place:end] in self._ordinary), place + 1)
            tokens += self._ordinary.get(mark[place:end], ())
            place = end
        return tokens

    @cached_property
    def _ordinary(self) -> dict[bytes, tuple[int]]:
        return {piece: (token,) for token, piece in enumerate(self._pieces) if token not in self._texts}


def _longest(names: set[str]) -> dict[str, int]:
    """How long the longest mark is that each of these texts begins with, 0 if none. They are the marks and, of each,
    the parts at its beginning whose lengths are those that a search for its own length by halves passes: of 13
    characters 8 and 12. So a few looks find the longest mark at a place, whatever marks there are: a part that is found
    says all about those that are shorter."""
    parts = set(names)
    for name in names:
        length = len(name)
        while length := length & (length - 1):
            parts.add(name[:length])
    longest: dict[str, int] = {}
    beginnings: list[str] = []  # marks that the text begins with, each the beginning of the next
    for text in sorted(parts):
        while beginnings and not text.startswith(beginnings[-1]):
            beginnings.pop()
        if text in names:
            beginnings.append(text)
        longest[text] = len(beginnings[-1]) if beginnings else 0
    return longest


def _begins(names: set[str]) -> str:
    """A pattern of the first character of marks, where the second may be one's, too: quicker than a pattern of them
    all, or even of all pairs, where there are many."""
    longer = [name for name in names if len(name) > 1]
    pair = f"{_any_of(name[0] for name in longer)}(?={_any_of(name[1] for name in longer)})"
    return f"{pair}|{_any_of(name for name in names if len(name) == 1)}"


def _any_of(letters: Iterable[str]) -> str:
    """Letters beyond the basic plane all together: Python compares them one by one."""
    found = {re.escape(letter) if letter <= _LAST_OF_BASIC else _BEYOND_BASIC for letter in letters}
    return f"[{''.join(found)}]" if found else _NEVER


def _bare(text: str, before: str, after: str, tokenize: Tokenize) -> str:
    """What lies between two marks, without the spaces that they swallow."""
    if before and text[:1] in _SPACES and tokenize(f"{before} ", True) == tokenize(before, True):
        text = text.lstrip(_SPACES)
    if after and text[-1:] in _SPACES and tokenize(f" {after}", True) == tokenize(after, True):
        text = text.rstrip(_SPACES)
    return text
