"""Texts on which tokenizers fail, if they fail on any."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from engine.speculation.model.interface import Vocabulary

_RUN = 20_000  # characters: std::regex needs more stack for it than there is
_RUNS = (
    *("a", "A", "é", "\u0301", "中", "가", "ก", "1", "!", "=", "。", "😀", " ", "\t", "\n", "\r\n"),
    *("ab ", "a1!", "'s"),
)
_SURROGATES = range(0xD800, 0xE000)
_STEP = 61  # beyond the basic plane one character in 61 is enough: they are of a few kinds
_MOST_SPECIAL, _MOST_PIECES = 1000, 5000

_PROSE = (
    "It's “naïve” — don't you think? 12,345.67 € (or £9)…\n\n"
    "\tdef f(x):\r\n\t\treturn x**2  # комментарий, 注释, تعليق, टिप्पणी, ความคิดเห็น\n"
    "👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 ﷽ Z̸͓̈ \u202etxt\u202c "
    "\ufeff\u00a0\u3000\x00\x7f\x85 <0x0A> <unk> </s> [INST] <|im_end|>"
)


def hard_texts(vocabulary: Vocabulary) -> Iterator[str]:
    yield ""
    yield _PROSE
    for letters in _RUNS:
        yield (letters * _RUN)[:_RUN] + "x"
    basic = "".join(chr(code) for code in range(0x10000) if code not in _SURROGATES)
    yield basic
    yield " ".join(basic[::7])
    yield "".join(chr(code) for code in range(0x10000, sys.maxunicode + 1, _STEP))
    special = sorted(vocabulary.special)[:_MOST_SPECIAL]
    texts = [vocabulary.pieces[token].decode("utf-8", "replace") for token in special]
    yield "".join(texts)
    yield " a😀 ".join(texts)
    some = vocabulary.pieces[:: 1 + len(vocabulary) // _MOST_PIECES]
    yield " ".join(piece.decode("utf-8", "replace") for piece in some)
