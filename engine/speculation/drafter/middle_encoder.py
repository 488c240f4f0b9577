"""Makes a tokenizer.json split bytes in the middle of a text: nothing is put in front, and no special token is
recognised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tokenizers import Tokenizer

from engine.speculation.drafter.assembly import digest_of, model_of, tokenizer_of
from engine.speculation.drafter.exact_encoder import STRAY, STRAY_OR_MARK, ExactEncoder
from engine.speculation.drafter.pieces import Spelling, byte_alphabet

_AT_ONCE = 1024  # texts that are split before others may have Python's lock


class MiddleEncoder:
    def __init__(self, content: Mapping[str, Any], model: Any, spelling: Spelling, pieces: tuple[bytes, ...]) -> None:
        """`content` is that of a tokenizer.json, `model` its model, `pieces` are the bytes of every token."""
        edited = _without_frame(content, pieces)
        self.digest = digest_of(edited)  # of all that decides the tokens
        own_model = model_of(edited["model"]) if edited["model"]["type"] == "Unigram" else model
        self._tokenizer = tokenizer_of(edited, own_model)
        # No method is passed: an object that refers to itself keeps megabytes until Python collects its garbage.
        encode_text = partial(_ids, self._tokenizer)
        if spelling is Spelling.BYTE_LEVEL:
            # Merges alone, over the alphabet: these encode any bytes, also parts of characters.
            letters = {byte: letter for letter, byte in byte_alphabet().items()}
            self._exact = ExactEncoder(pieces, encode_text, STRAY, partial(_merged, Tokenizer(own_model), letters))
        else:
            self._exact = ExactEncoder(pieces, encode_text, STRAY_OR_MARK)

    def encode(self, data: bytes) -> list[int] | None:
        """The tokens; None where none have exactly these bytes."""
        return self._exact.encode(data)

    def encode_many(self, items: Sequence[bytes]) -> list[list[int] | None]:
        """Runs `encode` for many short items, several at a time."""
        results: list[list[int] | None] = [None] * len(items)
        places: list[int] = []
        texts: list[str] = []
        for place, data in enumerate(items):
            text = data.decode("utf-8", "surrogateescape")
            if self._exact.is_plain(text):
                places.append(place)
                texts.append(text)
            else:
                results[place] = self.encode(data)
        for start in range(0, len(texts), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            encodings = self._tokenizer.encode_batch_fast(texts[some], add_special_tokens=False)
            for place, encoding in zip(places[some], encodings, strict=True):
                tokens = encoding.ids
                results[place] = tokens if self._exact.spells(tokens, items[place]) else self.encode(items[place])
        return results


def _merged(merges: Any, letters: Mapping[int, str], data: bytes) -> list[int]:
    return _ids(merges, "".join(letters[byte] for byte in data))


def _ids(tokenizer: Any, text: str) -> list[int]:
    tokens: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return tokens


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
