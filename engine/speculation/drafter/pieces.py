"""The bytes of each token of a tokenizer.json."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from engine.speculation.drafter.exact_encoder import WORD_MARK
from engine.values.errors import DrafterUnusable

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class Spelling(StrEnum):
    """How the tokens' names are written."""

    BYTE_LEVEL = "byte_level"  # every byte as a printable character, as in GPT-2
    WORD_MARKS = "word_marks"  # text with ▁ for a space and <0xNN> for single bytes, as in SentencePiece


def byte_alphabet() -> dict[str, int]:
    """GPT-2's characters for the 256 bytes: printable ones are themselves, the others follow from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


def spelling_of(content: Mapping[str, Any], name: str) -> Spelling:
    """Raises DrafterUnusable for tokenizers of another kind (`name` is the drafter's)."""
    model = content.get("model")
    if isinstance(model, dict) and model.get("type") in ("BPE", "Unigram"):
        plain = not (model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"))
        steps = [step for key in ("normalizer", "pre_tokenizer") for step in parts(content.get(key))]
        if plain and any(step.get("type") == "ByteLevel" for step in steps):
            return Spelling.BYTE_LEVEL
        if plain and any(_marks_words(step) for step in steps):
            return Spelling.WORD_MARKS
    raise DrafterUnusable("{name} splits text in an unknown way; choose another drafter.", name=name)


def parts(step: Any) -> Iterator[dict[str, Any]]:
    """The simple steps that a normalizer or pre-tokenizer consists of."""
    if not isinstance(step, dict):
        return
    if step.get("type") == "Sequence":
        for part in step.get("normalizers") or step.get("pretokenizers") or step.get("processors") or ():
            yield from parts(part)
    else:
        yield step


def _marks_words(step: Mapping[str, Any]) -> bool:
    if step.get("type") == "Metaspace":
        return step.get("replacement") == WORD_MARK
    return step.get("type") == "Replace" and step.get("content") == WORD_MARK


def names_of(content: Mapping[str, Any]) -> dict[int, str]:
    """The names of the model's own tokens, by id, without added tokens."""
    vocab = content["model"]["vocab"]
    if isinstance(vocab, dict):
        return {token: name for name, token in vocab.items()}
    return {token: name for token, (name, _score) in enumerate(vocab)}


def piece_of(name: str, spelling: Spelling, alphabet: Mapping[str, int]) -> bytes:
    """b"" for a name without bytes."""
    if spelling is Spelling.BYTE_LEVEL:
        if not all(character in alphabet for character in name):
            return b""
        return bytes(alphabet[character] for character in name)
    match = _BYTE_TOKEN.fullmatch(name)
    if match is not None:
        return bytes([int(match[1], 16)])
    return name.replace(WORD_MARK, " ").encode("utf-8", "ignore")
