"""Rules that change a row of logits by the letters of tokens: likelier words, banned words, and passages that should
not come again. All of it is a function of the row and the tokens before it.

A *banned word* is kept out as a string, however tokens may spell it: every token is masked whose letters would complete
it, alone or after those of the tokens before. A *logit bias* applies to the tokens of a word by longest match, with and
without a space in front; in a word of several tokens, to each after those before it. *DRY* is llama.cpp's
(`llama_sampler_dry`), with its usual breakers; a token that holds one of them ends the passage that repeats.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engine.speculation.numerics.likeliest import Ids, LogitRow
from engine.values.config import SamplingSettings
from engine.values.parameters import read_biases

_BREAKERS = (b"\n", b":", b'"', b"*")
_LONGEST_REPEAT = 256  # tokens beyond `dry_length`; the penalty of a longer passage is that of this one
_LARGEST_PENALTY = 1e30


class TokenLetters:
    """The letters of the tokens of a vocabulary, to look tokens up by."""

    def __init__(self, pieces: Sequence[bytes], silent: frozenset[int]) -> None:
        """`silent`: tokens that are no text."""
        self._pieces = pieces
        self._silent = silent

    def of(self, token: int) -> bytes:
        """The token's letters; for a token that is no text, a byte that no text holds."""
        return b"\xff" if token in self._silent else self._pieces[token]

    def holding(self, letters: bytes) -> Ids:
        return self._ids(token for token, piece in enumerate(self._pieces) if letters in piece)

    def beginning_with(self, letters: bytes) -> Ids:
        first = bisect_left(self._sorted, (letters, 0))
        found: list[int] = []
        for piece, token in self._sorted[first:]:
            if not piece.startswith(letters):
                break
            found.append(token)
        return self._ids(iter(found))

    def split(self, letters: bytes) -> tuple[int, ...]:
        """Tokens by longest match; what no token spells is left out."""
        tokens: list[int] = []
        place = 0
        while place < len(letters):
            ends = range(min(len(letters), place + self._longest), place, -1)
            end = next((end for end in ends if letters[place:end] in self._ids_by_piece), 0)
            if end:
                tokens.append(self._ids_by_piece[letters[place:end]])
            place = end or place + 1
        return tuple(tokens)

    def _ids(self, tokens: Iterator[int]) -> Ids:
        return np.array([token for token in tokens if token not in self._silent], np.int64)

    @cached_property
    def _sorted(self) -> list[tuple[bytes, int]]:
        return sorted((piece, token) for token, piece in enumerate(self._pieces) if piece)

    @cached_property
    def _ids_by_piece(self) -> dict[bytes, int]:
        return {piece: token for piece, token in reversed(self._sorted) if token not in self._silent}

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._ids_by_piece), default=1)


@dataclass(frozen=True, slots=True)
class _Ban:
    """These tokens must not follow these letters, which may be none."""

    letters: bytes
    tokens: Ids


@dataclass(frozen=True, slots=True)
class _Bias:
    """A number added to the logit of a token that follows these."""

    before: tuple[int, ...]
    token: int
    bias: float


class Rules:
    """The rules of one reply. `num_looked_at`: how many tokens before a row they look at."""

    def __init__(self, settings: SamplingSettings, spelling: TokenLetters) -> None:
        self._settings = settings
        self._spelling = spelling
        self._bans = [*_bans(settings.banned_words, spelling)]
        self._num_letters = max((len(ban.letters) for ban in self._bans), default=0)
        self._biases = [*_biases(settings.logit_bias, spelling)]
        self._breakers = (
            frozenset(token for letters in _BREAKERS for token in spelling.holding(letters).tolist())
            if settings.dry_multiplier
            else frozenset()
        )
        longest_bias = max((len(each.before) for each in self._biases), default=0)
        self.num_looked_at = 2**31 if settings.dry_multiplier else self._num_letters + longest_bias

    def weigh(self, logits: LogitRow, history: Sequence[int]) -> None:
        """Applies biases and bans to the row, shape (vocabulary,)."""
        for each in self._biases:
            if not each.before or tuple(history[-len(each.before) :]) == each.before:
                logits[each.token] += np.float32(each.bias)
        if self._bans:
            written = self._letters_before(history)
            for ban in self._bans:
                if written.endswith(ban.letters):
                    logits[ban.tokens] = -np.inf

    def deter(self, logits: LogitRow, history: Sequence[int]) -> None:
        """Lowers what would repeat a passage."""
        settings = self._settings
        if settings.dry_multiplier:
            tokens, lengths = repeated(history, settings.dry_length, self._breakers)
            penalties = settings.dry_multiplier * np.power(settings.dry_base, lengths - settings.dry_length)
            logits[tokens] -= np.minimum(penalties, _LARGEST_PENALTY).astype(np.float32)

    def _letters_before(self, history: Sequence[int]) -> bytes:
        letters = b""
        for token in reversed(history):
            if len(letters) >= self._num_letters:
                break
            letters = self._spelling.of(token) + letters
        return letters


def repeated(history: Sequence[int], least: int, breakers: frozenset[int]) -> tuple[Ids, npt.NDArray[np.float64]]:
    """The tokens that followed passages of at least `least` tokens which now end the text once more, and how long the
    longest such passage is; shapes (k,). A passage holds no breaker, and only the last `least` + _LONGEST_REPEAT tokens
    of it count."""
    num_open = next((n for n, token in enumerate(reversed(history)) if token in breakers), len(history))
    if num_open < least:
        return np.zeros(0, np.int64), np.zeros(0)
    said = np.asarray(history, np.int64)
    ends = np.flatnonzero(said[:-1] == said[-1])  # where the same token stood
    lengths = np.zeros(len(said), np.int64)
    for length in range(1, min(num_open, least + _LONGEST_REPEAT) + 1):
        lengths[ends] = length
        ends = ends[ends >= length]
        ends = ends[said[ends - length] == said[-1 - length]] if length < len(said) else ends[:0]
        if not len(ends):
            break
    places = np.flatnonzero(lengths >= least)
    longest = np.zeros(int(said.max()) + 1)
    np.maximum.at(longest, said[places + 1], lengths[places])
    tokens = np.flatnonzero(longest)
    return tokens, longest[tokens]


def _bans(words: str, spelling: TokenLetters) -> Iterator[_Ban]:
    for word in filter(str.strip, words.splitlines()):
        letters = word.encode("utf-8", "replace")
        yield _Ban(b"", spelling.holding(letters))
        for place in range(1, len(letters)):
            ban = _Ban(letters[:place], spelling.beginning_with(letters[place:]))
            if len(ban.tokens):
                yield ban


def _biases(text: str, spelling: TokenLetters) -> Iterator[_Bias]:
    for word, bias in read_biases(text):
        quoted = len(word) > 1 and word[0] == word[-1] == '"'
        forms = {
            spelling.split(form.encode("utf-8", "replace")) for form in ([word[1:-1]] if quoted else [word, " " + word])
        }
        yield from {_Bias(tokens[:place], token, bias) for tokens in forms for place, token in enumerate(tokens)}


def has_rules(settings: SamplingSettings) -> bool:
    return bool(settings.banned_words.strip() or settings.logit_bias.strip() or settings.dry_multiplier)
