"""A growing text in the drafter's tokens."""

from __future__ import annotations

from engine.drafter.interface import DrafterVocabulary

_OPEN_TOKENS = 4  # at the end, that the next bytes may still change
_MOST_OPEN_TOKENS = 48  # in a text without spaces
_MOST_UNSPELLED_BYTES = 64
_SPACES = b" \n\t\r"


class ReplyTail:
    """The drafter's tokens of a text that grows at its end.

    A tokenizer may split the same text otherwise once more of it is known, so the tail is tokenized again and again.
    Before it lies a border that moves from the beginning of one word to that of another, across which no tokenizer
    merges; what lies before the border is settled.
    """

    def __init__(self, vocabulary: DrafterVocabulary) -> None:
        self._vocabulary = vocabulary
        self.tokens: list[int] = []
        self.num_settled = 0  # of `tokens`; they do not change any more
        self.num_dropped = 0  # times that bytes were left out
        self._open = b""  # the bytes after the border

    def extend(self, data: bytes) -> bool:
        """False while the vocabulary has no tokens for the end of the text; what cannot be spelled is left out in the
        end."""
        self._open += data
        encoded = self._vocabulary.encode(self._open)
        if encoded is None:
            if len(self._open) > _MOST_UNSPELLED_BYTES:
                self._open = b""
                self.num_dropped += 1
                self.num_settled = len(self.tokens)
            return False
        del self.tokens[self.num_settled :]
        self.tokens += encoded
        self._settle()
        return True

    def with_guess(self, data: bytes) -> list[int] | None:
        """The tokens of the text if it went on with `data`; None where the vocabulary has none. Changes nothing."""
        encoded = self._vocabulary.encode(self._open + data)
        return None if encoded is None else [*self.tokens[: self.num_settled], *encoded]

    def _settle(self) -> None:
        pieces = self._vocabulary.pieces
        border = len(self.tokens) - _OPEN_TOKENS
        while border > self.num_settled:
            piece, before = pieces[self.tokens[border]], pieces[self.tokens[border - 1]]
            if piece[:1] == b" " and before[-1:] not in _SPACES:
                break
            border -= 1
        else:
            if len(self.tokens) - self.num_settled < _MOST_OPEN_TOKENS:
                return
            border = len(self.tokens) - _MOST_OPEN_TOKENS // 2
        num_bytes = sum(len(pieces[token]) for token in self.tokens[self.num_settled : border])
        self._open = self._open[num_bytes:]
        self.num_settled = border
