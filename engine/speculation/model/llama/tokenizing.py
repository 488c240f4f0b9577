"""Turns texts into tokens with llama.cpp's own tokenizers, even texts at which these would end the process or never
come to an end.

Their exceptions cannot be caught here: what would raise one is kept from them, or the model is refused.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any

from llama_cpp import llama_cpp as lib

from engine.speculation.model.interface import Vocabulary
from engine.speculation.model.special_tokens import SpecialTokens
from engine.values.errors import TargetUnsupported, TargetUnusable
from engine.values.sentences import template

TEXT_BYTES = frozenset((*range(0xC0), *range(0xC2, 0xF5)))  # that occur in UTF-8

# Kinds of byte-pair vocabularies whose words llama.cpp splits off by code of its own (unicode_regex_split_custom). All
# others go through std::regex, which recurses with every character of a word: eight megabytes of stack last for 15,000
# to 30,000 of them. The limits leave a fourth of that; an ordinary text has no such words.
_SPLIT_BY_HAND = (
    *("gpt-2", "smollm", "starcoder", "refact", "command-r", "exaone4", "mpt", "olmo", "phi-2", "falcon-h1", "pixtral"),
    *("llama3", "llama-v3", "llama-bpe", "falcon3", "lfm2", "glm4", "chatglm-bpe", "qwen2", "qwen35", "hunyuan"),
    *("deepseek-r1-qwen", "stablelm2", "grok-2", "kimi-k2", "gemma4"),
)
_LONGEST_WORD, _LONGEST_RUN, _LONGEST_NUMBER = 4096, 512, 129  # characters
_TOO_LONG = (
    (re.compile(rf"(?<!\d)\d{{{_LONGEST_NUMBER + 1},}}"), _LONGEST_NUMBER),  # superbpe takes time by its square
    (re.compile(rf"(?<!\s)\s{{{_LONGEST_RUN + 1},}}"), _LONGEST_RUN),  # so does deepseek-llm
    (re.compile(rf"(?<!\S)\S{{{_LONGEST_WORD + 1},}}"), _LONGEST_WORD),
    # Without a sign between them, many words are one to exaone-moe.
    (re.compile(rf"(?<![^\n\d.,;:!?()])[^\n\d.,;:!?()]{{{2 * _LONGEST_WORD},}}"), _LONGEST_WORD),
)
_MOST_SPECIAL = 64  # of a piece: llama.cpp walks through all that it has found for each one that it finds
_BORDER = re.compile(r"(?<=[^\W\d_])(?=[^\w\s][^\W\d_]| [^\W\d_])")  # where every vocabulary ends a word or may

_BYTE = "<0x{:02X}>"
_MARK = "▁"  # how SentencePiece writes a space
_USERS = lib.LLAMA_TOKEN_ATTR_USER_DEFINED  # recognised in every text, the other two only among special tokens
_SPECIAL_KINDS = _USERS | lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN
_REPLACEMENTS = ("\ufffd", "?", " ")

_REFUSED = {
    lib.LLAMA_VOCAB_TYPE_NONE: template("{name} has no vocabulary; choose a chat model."),
    # Its rules for rewriting text are a program that may end the process; only models that write nothing have them.
    lib.LLAMA_VOCAB_TYPE_UGM: template("{name} has a vocabulary that no chat model has; choose a chat model."),
}


def check_kind(model: Any, name: str) -> None:
    """Raises TargetUnsupported for vocabularies that no text may be given to."""
    kind = lib.llama_vocab_type(lib.llama_model_get_vocab(model))
    if kind in _REFUSED:
        raise TargetUnsupported(_REFUSED[kind], name=name)


class Tokenizer:
    """The tokenizer of one model. Any thread may use it."""

    def __init__(self, model: Any, vocabulary: Vocabulary, name: str) -> None:
        """`name`: of the model's file. Raises TargetUnusable for a vocabulary that cannot write every text."""
        self._vocab = lib.llama_model_get_vocab(model)
        kind = lib.llama_vocab_type(self._vocab)
        if kind == lib.LLAMA_VOCAB_TYPE_RWKV:
            _check_bytes(vocabulary, name)
        special = [token for token in range(len(vocabulary)) if self._is_any_of(_SPECIAL_KINDS, token)]
        self._texts = {token: vocabulary.pieces[token] for token in special}
        if not all(map(_is_text, self._texts.values())):  # it would leave half a character
            raise _lacks_tokens(name)
        self._cuts = kind == lib.LLAMA_VOCAB_TYPE_BPE and _kind_of_words(model) not in _SPLIT_BY_HAND
        self._strays = _Strays(self._vocab, vocabulary, name) if kind == lib.LLAMA_VOCAB_TYPE_SPM else None

    def tokenize(self, text: str, with_special: bool = True) -> list[int]:
        """Special tokens in the text are recognised only `with_special`, and none are added. Characters that the
        vocabulary cannot write are replaced."""
        if self._strays is not None:
            text = self._strays.replaced(text)
        tokens: list[int] = []
        for piece in self._pieces(text, with_special):
            tokens += _tokenize(self._vocab, piece, with_special)
        return tokens

    def _pieces(self, text: str, with_special: bool) -> list[str]:
        """The text in pieces: split if one has many special tokens, and if a word is too long, whose tokens may then
        differ from those of the whole."""
        pieces = list(self._between_special(text, self._special if with_special else self._user_defined))
        if self._cuts and len(text) > _LONGEST_NUMBER:
            for pattern, most in _TOO_LONG:
                pieces = [part for piece in pieces for part in self._cut(piece, pattern, most)]
        return pieces

    def _between_special(self, text: str, special: SpecialTokens) -> Iterator[str]:
        """The text split before special tokens, where llama.cpp splits it in any case."""
        start = 0
        for begin, _end, _is_said in islice(special.find(text), _MOST_SPECIAL, None, _MOST_SPECIAL):
            yield text[start:begin]
            start = begin
        yield text[start:]

    def _cut(self, text: str, pattern: re.Pattern[str], most: int) -> Iterator[str]:
        start = 0
        for run in pattern.finditer(text):
            place = run.start()
            while run.end() - place > most:
                place = self._place(text, place + most // 2, place + most)
                yield text[start:place]
                start = place
        yield text[start:]

    def _place(self, text: str, low: int, high: int) -> int:
        """The place to split: at a border between words if there is one, and not inside a special token."""
        borders = [border.start() for border in _BORDER.finditer(text, low, high)]
        place = borders[-1] if borders else high
        found = self._special.find(text[low : high + _LONGEST_RUN])
        return next((low + begin for begin, end, _ in found if 0 < begin < place - low < end), place)

    @cached_property
    def _special(self) -> SpecialTokens:
        """Texts that the tokenizer recognises before it splits the rest into words."""
        return SpecialTokens(self._texts, ())

    @cached_property
    def _user_defined(self) -> SpecialTokens:
        """Texts that it recognises even where no special tokens are."""
        return SpecialTokens({token: text for token, text in self._texts.items() if self._is_any_of(_USERS, token)}, ())

    def _is_any_of(self, kinds: int, token: int) -> bool:
        return bool(lib.llama_vocab_get_attr(self._vocab, token) & kinds)


class _Strays:
    """Characters that a SentencePiece vocabulary has neither a token for, nor tokens for their bytes: llama.cpp raises
    an exception for them."""

    def __init__(self, vocab: Any, vocabulary: Vocabulary, name: str) -> None:
        self._known: frozenset[bytes] = frozenset()  # texts of all tokens, where any byte is lacking
        self._lacking = TEXT_BYTES - set(_byte_tokens(vocab, vocabulary))
        if not self._lacking:
            return
        self._known = frozenset(lib.llama_vocab_get_text(vocab, token) for token in range(len(vocabulary)))
        self._lacking = frozenset(byte for byte in self._lacking if not self._is_known(byte))
        if not self._can_write(" "):  # every text begins with one
            raise _lacks_tokens(name)
        self._replacement = next(each for each in _REPLACEMENTS if self._can_write(each))

    def replaced(self, text: str) -> str:
        if not self._lacking:
            return text
        strays = {ord(letter): self._replacement for letter in set(text) if not self._can_write(letter)}
        return text.translate(strays) if strays else text

    def _can_write(self, letter: str) -> bool:
        data = letter.replace(" ", _MARK).encode("utf-8", "replace")
        return data in self._known or self._lacking.isdisjoint(data)

    def _is_known(self, byte: int) -> bool:
        return _BYTE.format(byte).encode() in self._known or (byte != 0 and bytes((byte,)) in self._known)


def _byte_tokens(vocab: Any, vocabulary: Vocabulary) -> Iterator[int]:
    """The bytes that have their own token, spelled as llama.cpp looks for it."""
    for token, piece in enumerate(vocabulary.pieces):
        if len(piece) == 1 and lib.llama_vocab_get_text(vocab, token) == _BYTE.format(piece[0]).encode():
            yield piece[0]


def _check_bytes(vocabulary: Vocabulary, name: str) -> None:
    """Refuses a vocabulary on which RWKV's longest match would never end: after a byte that begins tokens and is
    none."""
    if not {piece[0] for piece in vocabulary.pieces if len(piece) == 1} >= TEXT_BYTES:
        raise _lacks_tokens(name)


def _lacks_tokens(name: str) -> TargetUnusable:
    return TargetUnusable("{name} has a vocabulary that cannot write every text; choose another model.", name=name)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _kind_of_words(model: Any) -> str:
    buffer = ctypes.create_string_buffer(64)
    lib.llama_model_meta_val_str(model, b"tokenizer.ggml.pre", buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace")


def _tokenize(vocab: Any, text: str, with_special: bool) -> list[int]:
    data = text.encode("utf-8", "replace")
    size = len(data) + 16
    while True:
        tokens = (lib.llama_token * size)()
        count = lib.llama_tokenize(vocab, data, len(data), tokens, size, False, with_special)
        if count >= 0:
            return tokens[:count]
        size = -count
