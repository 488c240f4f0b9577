"""Assembles tokenizers from the content of a tokenizer.json, in steps between which other threads may have Python's
lock.

The library's own reader keeps the lock to its end: 60 ms for 32,000 tokens, in which the window stands still.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import BPE, Unigram

_BPE_OPTIONS = (
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
)
_ADDED_OPTIONS = ("content", "single_word", "lstrip", "rstrip", "normalized", "special")
_SORTED_AT_ONCE = 2_000  # keys
_EMPTY_MODEL = {"type": "BPE", "vocab": {}, "merges": []}


class _Pairs(Sequence[Any]):
    """A sequence whose items are made when the library asks for them. That is Python's work, so the lock may go to
    others meanwhile."""

    def __init__(self, pairs: Sequence[Any]) -> None:
        """Takes merges, as lists or as words with a space between them, or names and scores."""
        self._pairs = pairs

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, place: Any) -> Any:
        pair = self._pairs[place]
        return tuple(pair.split(" ") if isinstance(pair, str) else pair)

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))


def model_of(content: Mapping[str, Any]) -> Any:
    """A model from the content under "model", of type BPE or Unigram. Its dropout is left out: it would make tokens
    random."""
    if content["type"] == "Unigram":
        fallback = content.get("byte_fallback", False)
        return Unigram(_Pairs(content["vocab"]), unk_id=content.get("unk_id"), byte_fallback=fallback)
    options = {key: content[key] for key in _BPE_OPTIONS if content.get(key) is not None}
    merges = [pair for pair in content["merges"] if not (isinstance(pair, str) and pair.startswith("#version"))]
    return BPE(content["vocab"], _Pairs(merges), **options)


def tokenizer_of(content: Mapping[str, Any], model: Any) -> Any:
    """A tokenizer from the content of a tokenizer.json, with `model` in place of its model."""
    steps: dict[str, Any] = {"model": _EMPTY_MODEL, "added_tokens": [], "truncation": None, "padding": None}
    tokenizer: Any = Tokenizer.from_str(json.dumps({**content, **steps}))
    tokenizer.model = model
    added = content.get("added_tokens") or ()
    tokenizer.add_tokens([AddedToken(**{key: token[key] for key in _ADDED_OPTIONS}) for token in added])
    return tokenizer


def digest_of(content: Mapping[str, Any]) -> Any:
    """The sha256 of the JSON with sorted keys, which is never written whole."""
    digest = hashlib.sha256()
    for piece in json.JSONEncoder().iterencode(_in_order(content)):
        digest.update(piece.encode())
    return digest


def _in_order(value: Any) -> Any:
    """The value with sorted keys. Those of a vocabulary, sorted at once, would keep other threads waiting for 100
    ms."""
    if isinstance(value, list):
        return [_in_order(item) for item in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    runs = (sorted(keys[begin : begin + _SORTED_AT_ONCE]) for begin in range(0, len(keys), _SORTED_AT_ONCE))
    return {key: _in_order(value[key]) for key in heapq.merge(*runs)}
