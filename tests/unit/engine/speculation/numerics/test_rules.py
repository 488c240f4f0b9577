"""Words that must not come, words that are likelier, and passages that should not come again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.numerics.likeliest import RowScan
from engine.speculation.numerics.rules import Rules, TokenLetters, repeated
from engine.speculation.numerics.sampling import distribution_of
from engine.values.config import SamplingSettings
from engine.values.errors import SettingInvalid

LETTERS = tuple(bytes((byte,)) for byte in range(128))
PIECES = (*LETTERS, b"the", b" the", b"he", b"ther", b" a", b"<|end|>", "ä".encode(), b"\xc3")
END = PIECES.index(b"<|end|>")
SPELLING = TokenLetters(PIECES, frozenset({END}))


def after(text: tuple[bytes, ...], **settings: object) -> np.ndarray:
    """The row of zeros, by the rules, after these tokens."""
    row = np.zeros(len(PIECES), np.float32)
    history = [PIECES.index(piece) for piece in text]
    rules = Rules(SamplingSettings(**settings), SPELLING)  # type: ignore[arg-type]
    history = history[max(0, len(history) - rules.num_looked_at) :]
    rules.weigh(row, history)
    rules.deter(row, history)
    return row


@given(st.lists(st.sampled_from([b"t", b"h", b"e", b"the", b"he", b"ther", b" the", b"<|end|>", b"\xc3"]), max_size=8))
def test_a_banned_word_is_never_written_whatever_tokens_spell_it(text: list[bytes]) -> None:
    banned = "the\nee\n\nä"
    masked = np.isneginf(after(tuple(text), banned_words=banned))
    letters = b"".join(b"\xff" if piece == b"<|end|>" else piece for piece in text)
    if any(word in letters for word in (b"the", b"ee")):
        return
    for token, piece in enumerate(PIECES):
        would_hold = any(word in letters + piece for word in (b"the", b"ee", "ä".encode()))
        assert masked[token] == (token != END and would_hold), piece


def test_a_bias_holds_for_the_tokens_of_a_word_each_behind_those_before_it() -> None:
    row = after((b"x",), logit_bias='the = 2\n " a" = -1.5 \ntho=3')
    biased = {PIECES[token]: float(row[token]) for token in np.flatnonzero(row)}
    assert biased == {b"the": 2, b" the": 2, b" a": -1.5, b"t": 3, b" ": 3}
    assert after((b"t",), logit_bias="tho=3")[ord("h")] == 3
    assert after((b" ", b"t"), logit_bias="tho=3")[ord("h")] == 6  # both of its forms go on there
    assert after((b"t", b"h"), logit_bias="tho=3")[ord("o")] == 3


@pytest.mark.parametrize("text", ["sure", "= 3", "sure = much", "sure = 101", "sure = nan"])
def test_a_bias_that_makes_no_sense_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SettingInvalid, match="sure = -3"):
        SamplingSettings(logit_bias=text)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=14), st.integers(1, 3))
def test_passages_are_found_as_llama_cpp_finds_them(history: list[int], least: int) -> None:
    """Token 0 is the breaker."""
    expected: dict[int, int] = {}
    last = len(history) - 1
    for end in range(last):
        length = 0
        while length <= end and history[end - length] == history[last - length] != 0:
            length += 1
        if length >= least:
            expected[history[end + 1]] = max(length, expected.get(history[end + 1], 0))
    tokens, lengths = repeated(history, least, frozenset({0}))
    assert dict(zip(tokens.tolist(), lengths.tolist(), strict=True)) == expected


def test_where_nothing_is_left_to_write_a_sentence_says_so() -> None:
    row = RowScan(np.zeros(len(PIECES), np.float32))
    allowed = np.zeros(len(PIECES), np.bool_)
    allowed[PIECES.index(b"the")] = True
    rules = Rules(SamplingSettings(banned_words="he"), SPELLING)
    assert distribution_of(row, SamplingSettings(), [], None, allowed).ids[0] == PIECES.index(b"the")
    with pytest.raises(SettingInvalid, match="leave it nothing to write"):
        distribution_of(row, SamplingSettings(), [], rules, allowed)
