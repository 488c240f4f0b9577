"""Encodes bytes in the middle of a text: nothing is put in front, and no special token is recognised.

A tokenizer alone does not promise tokens with exactly the given bytes (normalizers, unknown characters, bytes that are
no text). Here every result is checked against the pieces; a text that fails is halved until its parts succeed, down to
tokens for single bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tokenizers import Tokenizer

from engine.drafter.pieces import WORD_MARK, Spelling, byte_alphabet

# Bytes that are no UTF-8, in the form that Python's "surrogateescape" gives them in a text.
_STRAY = re.compile("([\udc80-\udcff]+)")
# SentencePiece also takes a real ▁ for a space.
_STRAY_OR_MARK = re.compile(f"([\udc80-\udcff{WORD_MARK}]+)")


class MiddleEncoder:
    def __init__(self, content: Mapping[str, Any], spelling: Spelling, pieces: tuple[bytes, ...]) -> None:
        """`content` is that of a tokenizer.json, `pieces` are the bytes of every token."""
        edited = _without_frame(content, pieces)
        self.definition = json.dumps(edited, sort_keys=True)  # all that decides the tokens
        self._pieces = pieces
        self._tokenizer: Any = Tokenizer.from_str(self.definition)
        self._stray = _STRAY if spelling is Spelling.BYTE_LEVEL else _STRAY_OR_MARK
        self._merges: Any = None
        if spelling is Spelling.BYTE_LEVEL:
            # Merges alone, over the alphabet: these encode any bytes, also parts of characters.
            self._merges = Tokenizer(self._tokenizer.model)
            self._letters = {byte: letter for letter, byte in byte_alphabet().items()}
        self._byte_tokens: dict[int, int] = {}
        for token, piece in enumerate(pieces):
            if len(piece) == 1:
                self._byte_tokens.setdefault(piece[0], token)

    def encode(self, data: bytes) -> list[int] | None:
        """None where no tokens have exactly these bytes."""
        tokens: list[int] = []
        for part in self._stray.split(data.decode("utf-8", "surrogateescape")):
            if part:
                found = self._raw(part) if self._stray.fullmatch(part) else self._text(part)
                if found is None:
                    return None
                tokens += found
        return tokens

    def encode_many(self, items: Sequence[bytes]) -> list[list[int] | None]:
        """`encode` for many short items, several at a time."""
        results: list[list[int] | None] = [None] * len(items)
        places: list[int] = []
        texts: list[str] = []
        for place, data in enumerate(items):
            text = data.decode("utf-8", "surrogateescape")
            if self._stray.search(text) is None:
                places.append(place)
                texts.append(text)
            else:
                results[place] = self.encode(data)
        encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        for place, encoding in zip(places, encodings, strict=True):
            tokens = encoding.ids
            results[place] = tokens if self._spells(tokens, items[place]) else self.encode(items[place])
        return results

    def _text(self, text: str) -> list[int] | None:
        tokens: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        if self._spells(tokens, text.encode()):
            return tokens
        if len(text) == 1:
            return self._raw(text)
        first = self._text(text[: len(text) // 2])
        second = None if first is None else self._text(text[len(text) // 2 :])
        return None if first is None or second is None else first + second

    def _raw(self, part: str) -> list[int] | None:
        """Bytes, whatever text they may be."""
        data = part.encode("utf-8", "surrogateescape")
        if self._merges is not None:
            letters = "".join(self._letters[byte] for byte in data)
            tokens: list[int] = self._merges.encode(letters, add_special_tokens=False).ids
            if self._spells(tokens, data):
                return tokens
        if all(byte in self._byte_tokens for byte in data):
            return [self._byte_tokens[byte] for byte in data]
        return None

    def _spells(self, tokens: Sequence[int], data: bytes) -> bool:
        pieces = self._pieces
        try:
            return b"".join([pieces[token] for token in tokens]) == data
        except IndexError:  # a token that the model does not know
            return False


def _without_frame(content: Mapping[str, Any], pieces: Sequence[bytes]) -> dict[str, Any]:
    """The tokenizer without its work at the edges of a text, and without special tokens."""
    model = dict(content["model"])
    if "dropout" in model:
        model["dropout"] = None  # it would make tokens random
    if model["type"] == "Unigram":
        # It would find the names of special tokens in a text. A name with a space is never found: ▁ replaces spaces.
        model["vocab"] = [
            [name, score] if token < len(pieces) and pieces[token] else [f" {token}", score]
            for token, (name, score) in enumerate(model["vocab"])
        ]
    return {
        "version": content.get("version", "1.0"),
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": _edited(content.get("normalizer")),
        "pre_tokenizer": _edited(content.get("pre_tokenizer")),
        "post_processor": None,
        "decoder": None,
        "model": model,
    }


def _edited(step: Any) -> Any:
    if not isinstance(step, dict):
        return step
    kind = step.get("type")
    if kind in ("Prepend", "Strip"):
        return None
    if kind == "Sequence":
        key = "normalizers" if "normalizers" in step else "pretokenizers"
        return step | {key: [part for part in map(_edited, step.get(key, ())) if part is not None]}
    if kind == "Metaspace":
        kept = {key: value for key, value in step.items() if key not in ("add_prefix_space", "str_rep")}
        return kept | {"prepend_scheme": "never"}
    if kind == "ByteLevel" and "add_prefix_space" in step:
        return step | {"add_prefix_space": False}
    return step
