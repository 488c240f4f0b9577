"""Tokenizes long texts in pieces, so that a stop in the meantime is noticed."""

from __future__ import annotations

import re
from functools import cached_property

from engine.speculation.model.interface import Interrupted, PromptReader
from engine.speculation.model.prompt_text import PromptText, part
from engine.values.stop_signal import StopSignal

_PIECE = 8_000  # characters, at least: some milliseconds
_SPACE = r"(?<=[^\W\d_])(?= [^\W\d_])"  # between two words, where every vocabulary ends a token, or nearly
_LINE = r"(?<=\n)(?=[^\W\d_])"


class LongTexts:
    def __init__(self, target: PromptReader) -> None:
        self._target = target

    @cached_property
    def _adds_space(self) -> bool:
        """True if the tokenizer adds a space before every text, as SentencePiece does."""
        pieces = self._target.vocabulary.pieces
        return b"".join(pieces[token] for token in self._target.tokenize(PromptText("a"))).startswith(b" ")

    @cached_property
    def _border(self) -> re.Pattern[str]:
        return re.compile(_SPACE if self._adds_space else f"{_SPACE}|{_LINE}")

    @cached_property
    def _cuts(self) -> bool:
        """True if no special token has a border in it."""
        vocabulary = self._target.vocabulary
        special = (vocabulary.pieces[token].decode("utf-8", "replace") for token in vocabulary.special)
        return not any(map(self._border.search, special))

    def tokenize(self, text: PromptText, stop: StopSignal | None) -> list[int]:
        """Raises Interrupted when `stop` gets set."""
        tokens: list[int] = []
        place = 0
        while True:
            if stop is not None and stop.is_set():
                raise Interrupted
            end = self._end(text, place)
            start = place + 1 if place > 0 and self._adds_space else place  # the space that the tokenizer adds
            tokens += self._target.tokenize(part(text, slice(start, end)))
            if end == len(text):
                return tokens
            place = end

    def _end(self, text: PromptText, place: int) -> int:
        """The end of the piece that begins at `place`. If a text goes on later, its first pieces stay the same."""
        if len(text) - place <= 2 * _PIECE or not self._cuts:
            return len(text)
        border = self._border.search(text, place + _PIECE, place + 2 * _PIECE)
        if border is not None:
            return border.start()
        return len(text) if self._adds_space else place + 2 * _PIECE
