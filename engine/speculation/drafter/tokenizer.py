"""The drafter's own tokenizer: its tokens as bytes, tokens for any bytes, and a conversation in its chat format."""

from __future__ import annotations

import hashlib
import heapq
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import BPE, Unigram

from engine.speculation.drafter.exact_encoder import STRAY, STRAY_OR_MARK, WORD_MARK, ExactEncoder
from engine.speculation.drafter.files import TokenizerFiles, read_json
from engine.speculation.drafter.prompt_format import PromptFormat
from engine.speculation.model.prompt_text import PromptText
from engine.speculation.model.special_tokens import SpecialTokens
from engine.values.conversations import ChatTurn
from engine.values.errors import DrafterUnusable

_AT_ONCE = 1024  # texts that are split before others may have Python's lock
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
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class DrafterTokenizer:
    """A drafter's tokenizer, for bytes in the middle of a text and for whole conversations.

    `pieces` holds the bytes of every token by id, b"" for special and added tokens and for ids without a token;
    `special` the ids that no text can produce; `end` the token that ends a turn; `fingerprint` the sha256 of all that
    decides how bytes become tokens.
    """

    def __init__(self, content: dict[str, Any], files: TokenizerFiles, name: str) -> None:
        """`content` is that of the tokenizer.json. Raises DrafterUnusable."""
        spelling = spelling_of(content, name)
        model = model_of(content["model"])
        self._prompts = tokenizer_of(content, model)
        names = names_of(content)
        size = files.config.get("vocab_size")
        self._size = size if isinstance(size, int) else max(names, default=-1) + 1
        if not names or max(names) >= self._size:
            raise DrafterUnusable(
                "The tokenizer of {name} has more tokens than its model; download both in the same version.", name=name
            )
        added = {token["id"]: bool(token.get("special")) for token in content.get("added_tokens") or ()}
        begin = files.token(self._prompts, "bos")
        self.end = files.token(self._prompts, "eos")
        unknown = content["model"].get("unk_id", self._prompts.token_to_id(content["model"].get("unk_token") or ""))
        silent = {token for token in (begin, self.end, unknown) if token is not None}
        self.special = frozenset(silent | {token for token, is_special in added.items() if is_special})
        pieces = [b""] * self._size
        alphabet = byte_alphabet()
        for token, text in names.items():
            if token not in self.special and token not in added:
                pieces[token] = piece_of(text, spelling, alphabet)
        self.pieces = tuple(pieces)
        self._middle = MiddleEncoder(content, model, spelling, self.pieces)
        self._prompt_start = self._start_of_prompt(files, begin)
        self._special = SpecialTokens(
            {token: names[token].encode() for token in self.special if token in names}, self.pieces
        )
        self._format = PromptFormat(files.template, *map(self._text_of, (begin, self.end)))
        digest = self._middle.digest.copy()
        digest.update(repr((self._size, sorted(self.special), sorted(added))).encode())
        self.fingerprint: str = digest.hexdigest()

    @classmethod
    def from_folder(cls, folder: Path) -> DrafterTokenizer:
        """Raises DrafterUnusable when the folder holds no tokenizer, a damaged one, or one of an unknown kind."""
        files = TokenizerFiles.read(folder)
        content = read_json(folder / "tokenizer.json") or _converted(folder)
        try:
            return cls(content, files, folder.name)
        except (DrafterUnusable, KeyboardInterrupt, SystemExit):
            raise
        # The tokenizers library raises a plain Exception for a file it does not understand, or panics, which is none.
        except BaseException as error:
            raise DrafterUnusable(
                "The tokenizer in {folder} is damaged; download the drafter again.", folder=folder
            ) from error

    def __len__(self) -> int:
        """The size of the model's vocabulary, which may be larger than the tokenizer's."""
        return self._size

    def encode(self, data: bytes) -> list[int] | None:
        """Tokens for bytes in the middle of a text, with exactly these bytes; None where there are none."""
        return self._middle.encode(data)

    def encode_many(self, items: Sequence[bytes]) -> list[list[int] | None]:
        return self._middle.encode_many(items)

    def encode_prompt(self, turns: Sequence[ChatTurn]) -> list[int]:
        """The conversation in the drafter's own chat format, up to where the reply begins."""
        text, is_whole = self._format.render(turns)
        return self._encode_prompt(text) if is_whole else self._prompt_start + self._encode_prompt(text)

    def _encode_prompt(self, text: PromptText) -> list[int]:
        return [token for token in self._special.tokens_of(text, self._tokenize) if token < self._size]

    def _tokenize(self, text: str, with_special: bool) -> list[int]:
        data = text.encode("utf-8", "replace")  # text may hold half of a surrogate pair, which is no UTF-8
        if not with_special:
            return self._middle.encode(data) or []
        tokens: list[int] = self._prompts.encode(data.decode(), add_special_tokens=False).ids
        return tokens

    def _start_of_prompt(self, files: TokenizerFiles, begin: int | None) -> list[int]:
        """Tokens that the tokenizer itself puts in front of a text; templates write them, too."""
        wanted = files.tokenizer.get("add_bos_token")
        if isinstance(wanted, bool):
            return [begin] if wanted and begin is not None else []
        bare = self._prompts.encode("a", add_special_tokens=False).ids
        framed = self._prompts.encode("a", add_special_tokens=True).ids
        return framed[: framed.index(bare[0])] if bare and bare[0] in framed else []

    def _text_of(self, token: int | None) -> str:
        text = None if token is None else self._prompts.id_to_token(token)
        return text if isinstance(text, str) else ""


def _converted(folder: Path) -> dict[str, Any]:
    """The tokenizer of a folder that has no tokenizer.json, converted by transformers."""
    # Imported here because that takes two seconds and is seldom needed.
    from transformers import AutoTokenizer

    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, use_fast=True, trust_remote_code=False
        )
        content: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    # The error depends on what is missing: files, sentencepiece, an attribute.
    except Exception as error:
        raise DrafterUnusable(
            "{folder} has no usable tokenizer.json; save its tokenizer in that format.", folder=folder
        ) from error
    return content


class MiddleEncoder(ExactEncoder):
    """Makes a tokenizer.json split bytes in the middle of a text: nothing is put in front, and no special token is
    recognised."""

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
            super().__init__(pieces, encode_text, STRAY, partial(_merged, Tokenizer(own_model), letters))
        else:
            super().__init__(pieces, encode_text, STRAY_OR_MARK)

    def encode_many(self, items: Sequence[bytes]) -> list[list[int] | None]:
        """Runs `encode` for many short items, several at a time."""
        results: list[list[int] | None] = [None] * len(items)
        places: list[int] = []
        texts: list[str] = []
        for place, data in enumerate(items):
            text = data.decode("utf-8", "surrogateescape")
            if self.is_plain(text):
                places.append(place)
                texts.append(text)
            else:
                results[place] = self.encode(data)
        for start in range(0, len(texts), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            encodings = self._tokenizer.encode_batch_fast(texts[some], add_special_tokens=False)
            for place, encoding in zip(places[some], encodings, strict=True):
                tokens = encoding.ids
                results[place] = tokens if self.spells(tokens, items[place]) else self.encode(items[place])
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
