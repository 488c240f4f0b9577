"""Special tokens in prompts: only what the chat template wrote is special. In what people and models said, the same
letters are text.

llama.cpp's own chat does likewise: its template engine notes which parts of a prompt are input, and special tokens are
parsed in the others. Here a prompt in which nobody said a mark is tokenized in one go; in others, only the stretch
between two of the template's own marks in which one was said is tokenized apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from engine.target.prompt_text import part, said_in

_WINDOW = 100_000  # characters searched before others may have Python's lock
_PREFIX = 2
_LONGEST = 256  # bytes of a mark: no model has one of a third of this
_SPACES = " \t\n\v\f\r"  # that llama.cpp drops beside some tokens

Tokenize = Callable[[str, bool], list[int]]  # tokens of a text; the flag: whether special ones in it are recognised


class Marks:
    """The texts of special tokens ("marks")."""

    def __init__(self, texts: Mapping[int, bytes], pieces: Sequence[bytes]) -> None:
        """`texts`: of the special tokens. `pieces`: of all tokens, by id."""
        self._texts, self._pieces = texts, pieces
        short = (data.decode("utf-8", "ignore") for data in texts.values() if len(data) <= _LONGEST)
        self._names = set(filter(None, short))
        lengths: dict[str, set[int]] = {}
        for text in self._names:
            lengths.setdefault(text[:_PREFIX], set()).add(len(text))
        self._lengths = {prefix: sorted(found, reverse=True) for prefix, found in lengths.items()}
        self._begins = re.compile(f"(?=({'|'.join(map(re.escape, sorted(lengths, key=len, reverse=True)))}))")

    def __contains__(self, token: int) -> bool:
        return token in self._texts

    def find(self, text: str) -> Iterator[tuple[int, int, bool]]:
        """Where a mark begins and ends, the longest at each place, and whether any of it was said. Those that the
        template wrote do not overlap."""
        if not self._names:
            return
        said, place = said_in(text), 0
        for start in range(0, len(text), _WINDOW):
            for found in self._begins.finditer(text, start, start + _WINDOW + _PREFIX - 1):
                begin = found.start()
                ends = (begin + length for length in self._lengths[found[1]] if begin >= place)
                end = next((end for end in ends if text[begin:end] in self._names), None)
                if end is not None:
                    is_said = any(said[begin:end])
                    place = begin + 1 if is_said else end
                    yield begin, end, is_said

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
        tokens: list[int] = []
        for token in tokenize(text, False) if text else ():
            mark = self._texts.get(token)
            tokens += [token] if mark is None or mark not in data else self._spelled(mark)
        return tokens

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


def _bare(text: str, before: str, after: str, tokenize: Tokenize) -> str:
    """What lies between two marks, without the spaces that they swallow."""
    if before and text[:1] in _SPACES and tokenize(f"{before} ", True) == tokenize(before, True):
        text = text.lstrip(_SPACES)
    if after and text[-1:] in _SPACES and tokenize(f" {after}", True) == tokenize(after, True):
        text = text.rstrip(_SPACES)
    return text
