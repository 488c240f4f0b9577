"""Splits bytes in the middle of a text into tokens that spell exactly these bytes.

A tokenizer alone does not promise that (normalizers, unknown characters, bytes that are no text). Here every result is
checked against the pieces; a text that fails is halved until its parts succeed, down to tokens for single bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

WORD_MARK = "▁"  # a space in SentencePiece's vocabularies

# Bytes that are no UTF-8, in the form that Python's "surrogateescape" gives them in a text.
STRAY = re.compile("([\udc80-\udcff]+)")
# SentencePiece also takes a real ▁ for a space.
STRAY_OR_MARK = re.compile(f"([\udc80-\udcff{WORD_MARK}]+)")

Encode = Callable[[str], list[int]]


class ExactEncoder:
    def __init__(
        self,
        pieces: Sequence[bytes],
        encode_text: Encode,
        stray: re.Pattern[str] = STRAY,
        encode_bytes: Callable[[bytes], list[int]] | None = None,
    ) -> None:
        """`pieces` are the bytes of every token. `encode_text` is a tokenizer without its work at the edges of a text;
        `stray` finds what must not be given to it; `encode_bytes` is another for any bytes, if there is one."""
        self._pieces = pieces
        self._encode_text = encode_text
        self._stray = stray
        self._encode_bytes = encode_bytes
        self._byte_tokens: dict[int, int] = {}
        for token, piece in enumerate(pieces):
            if len(piece) == 1:
                self._byte_tokens.setdefault(piece[0], token)

    def encode(self, data: bytes) -> list[int] | None:
        """The tokens; None where none have exactly these bytes."""
        tokens: list[int] = []
        for part in self._stray.split(data.decode("utf-8", "surrogateescape")):
            if part:
                found = self._raw(part) if self._stray.fullmatch(part) else self._text(part)
                if found is None:
                    return None
                tokens += found
        return tokens

    def is_plain(self, text: str) -> bool:
        """True if all of the text, which is decoded with “surrogateescape”, may be given to the tokenizer."""
        return self._stray.search(text) is None

    def spells(self, tokens: Sequence[int], data: bytes) -> bool:
        pieces = self._pieces
        try:
            return b"".join([pieces[token] for token in tokens]) == data
        except IndexError:  # a token that the model does not know
            return False

    def _text(self, text: str) -> list[int] | None:
        tokens = self._encode_text(text)
        if self.spells(tokens, text.encode()):
            return tokens
        if len(text) == 1:
            return self._raw(text)
        first = self._text(text[: len(text) // 2])
        second = None if first is None else self._text(text[len(text) // 2 :])
        return None if first is None or second is None else first + second

    def _raw(self, part: str) -> list[int] | None:
        """Tokens of bytes, whatever text they may be."""
        data = part.encode("utf-8", "surrogateescape")
        if self._encode_bytes is not None:
            tokens = self._encode_bytes(data)
            if self.spells(tokens, data):
                return tokens
        if all(byte in self._byte_tokens for byte in data):
            return [self._byte_tokens[byte] for byte in data]
        return None
