"""Special tokens in prompts: only what the chat template wrote is special. In what people and models said, the same
letters are text.

llama.cpp's own chat does the same: its template engine notes which parts of a prompt are input, and special tokens are
parsed in the others. Here a prompt in which no special token's text was said is tokenized in one go; in others, only
the stretch between two of the template's own special tokens in which one was said is tokenized apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property

from engine.speculation.model.prompt_text import part, said_in

_WINDOW = 100_000  # characters searched before others may have Python's lock
_LONGEST = 256  # bytes of a special token's text: no model has one of a third of this
_LAST_OF_BASIC, _BEYOND_BASIC, _NEVER = "\uffff", "\U00010000-\U0010ffff", "(?!)"
_SPACES = " \t\n\v\f\r"  # that llama.cpp drops next to some tokens

Tokenize = Callable[[str, bool], list[int]]  # tokens of a text; the flag: whether special ones in it are recognised


class SpecialTokens:
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
        """Where the text of a special token begins and ends, the longest at each place, and whether any of it was said.
        Those that the template wrote do not overlap."""
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
        """The length of the longest special token there; 0 if there is none. See `_longest`."""
        known = 0
        for step in self._steps:
            if text[begin : begin + known + step] in self._longest:
                known += step
        return self._longest[text[begin : begin + known]] if known else 0

    def tokens_of(self, text: str, tokenize: Tokenize) -> list[int]:
        """Tokens of a text in which special tokens are recognised only where they were not said."""
        tokens: list[int] = []
        done = after_last = 0  # what is tokenized, and the end of the template's last special token
        last, one_was_said = "", False
        for begin, end, is_said in (*self.find(text), (len(text), len(text), False)):
            if is_said:
                one_was_said = True
                continue
            if one_was_said:
                tokens += tokenize(str(part(text, slice(done, after_last))), True) if after_last > done else ()
                tokens += self._plain(_bare(text[after_last:begin], last, text[begin:end], tokenize), tokenize)
                done = begin
            last, after_last, one_was_said = text[begin:end], end, False
        return tokens + (tokenize(str(part(text, slice(done, None))), True) if done < len(text) else [])

    def _plain(self, text: str, tokenize: Tokenize) -> list[int]:
        """Tokens of a text without special ones. Some tokenizers put a special token together out of its parts, or look
        whole words up."""
        data = text.encode("utf-8", "replace")

        @cache
        def bare(token: int) -> list[int]:
            special = self._texts.get(token)
            return [token] if special is None or special not in data else self._spelled(special)

        return [each for token in (tokenize(text, False) if text else ()) for each in bare(token)]

    def _spelled(self, data: bytes) -> list[int]:
        """The letters in the longest tokens that are not special themselves; letters without a token are left out."""
        tokens: list[int] = []
        place = 0
        while place < len(data):
            ends = range(min(len(data), place + _LONGEST), place, -1)
            end = next((end for end in ends if data[place:end] in self._ordinary), place + 1)
            tokens += self._ordinary.get(data[place:end], ())
            place = end
        return tokens

    @cached_property
    def _ordinary(self) -> dict[bytes, tuple[int]]:
        return {piece: (token,) for token, piece in enumerate(self._pieces) if token not in self._texts}


def _longest(names: set[str]) -> dict[str, int]:
    """The length of the longest name that each of these texts begins with, 0 if none. The texts are the names and the
    beginnings of each whose lengths a search for its own length by halves passes: for 13 characters 8 and 12. So a few
    lookups find the longest name at a place, however many names there are: a beginning that is found says all about the
    shorter ones."""
    parts = set(names)
    for name in names:
        length = len(name)
        while length := length & (length - 1):
            parts.add(name[:length])
    longest: dict[str, int] = {}
    beginnings: list[str] = []  # names that the text begins with, each the beginning of the next
    for text in sorted(parts):
        while beginnings and not text.startswith(beginnings[-1]):
            beginnings.pop()
        if text in names:
            beginnings.append(text)
        longest[text] = len(beginnings[-1]) if beginnings else 0
    return longest


def _begins(names: set[str]) -> str:
    """A pattern of the first character of names, if the second may be one's, too: quicker than a pattern of them all,
    or even of all pairs, if there are many."""
    longer = [name for name in names if len(name) > 1]
    pair = f"{_any_of(name[0] for name in longer)}(?={_any_of(name[1] for name in longer)})"
    return f"{pair}|{_any_of(name for name in names if len(name) == 1)}"


def _any_of(letters: Iterable[str]) -> str:
    """A class of these letters, with those beyond the basic plane all together: Python compares them one by one."""
    found = {re.escape(letter) if letter <= _LAST_OF_BASIC else _BEYOND_BASIC for letter in letters}
    return f"[{''.join(found)}]" if found else _NEVER


def _bare(text: str, before: str, after: str, tokenize: Tokenize) -> str:
    """The text between two special tokens, without the spaces that they swallow."""
    if before and text[:1] in _SPACES and tokenize(f"{before} ", True) == tokenize(before, True):
        text = text.lstrip(_SPACES)
    if after and text[-1:] in _SPACES and tokenize(f" {after}", True) == tokenize(after, True):
        text = text.rstrip(_SPACES)
    return text
