"""A growing text in the drafter's tokens."""

from __future__ import annotations

import random
from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.proposers.translated import ReplyTail
from tests.fakes.drafter import PIECES, AsciiVocabulary, FakeDrafterVocabulary


def bytes_of(tokens: list[int]) -> bytes:
    return b"".join(PIECES[token] for token in tokens)


def state(tail: ReplyTail) -> tuple[list[int], int, int, bytes]:
    return [*tail.tokens], tail.num_settled, tail.num_dropped, tail._open


@given(st.binary(max_size=300), st.integers(0, 2**32))
def test_the_tokens_always_spell_what_was_added(data: bytes, seed: int) -> None:
    cuts = random.Random(seed)
    tail = ReplyTail(FakeDrafterVocabulary())
    place = 0
    while place < len(data):
        step = cuts.randint(1, 9)
        assert tail.extend(data[place : place + step])
        place += step
        assert bytes_of(tail.tokens) == data[:place]


@given(st.text("the in g", max_size=200), st.integers(0, 2**32))
def test_in_a_text_of_words_they_are_those_of_the_whole_text(text: str, seed: int) -> None:
    data = text.encode()
    cuts = random.Random(seed)
    vocabulary = FakeDrafterVocabulary()
    tail = ReplyTail(vocabulary)
    place = 0
    while place < len(data):
        settled = tail.tokens[: tail.num_settled]
        step = cuts.randint(1, 5)
        tail.extend(data[place : place + step])
        place += step
        assert tail.tokens[: len(settled)] == settled
        if b"  " not in data:
            assert tail.tokens == vocabulary.encode(data[:place])


def test_most_of_a_long_text_is_settled() -> None:
    tail = ReplyTail(FakeDrafterVocabulary())
    for _ in range(100):
        tail.extend(b" the thing")
    assert len(tail.tokens) - tail.num_settled < 10


def test_a_text_without_spaces_settles_too() -> None:
    tail = ReplyTail(FakeDrafterVocabulary())
    for _ in range(300):
        tail.extend(b"x")
    assert len(tail.tokens) - tail.num_settled <= 48


@given(st.text("the in g", max_size=200), st.text("the in g", max_size=20), st.integers(0, 2**32))
def test_a_guess_is_tokenized_as_if_it_had_been_written_and_changes_nothing(text: str, guess: str, seed: int) -> None:
    data = text.encode()
    cuts = random.Random(seed)
    tail = ReplyTail(FakeDrafterVocabulary())
    place = 0
    while place < len(data):
        step = cuts.randint(1, 5)
        tail.extend(data[place : place + step])
        place += step
        written, before = deepcopy(tail), state(tail)
        written.extend(guess.encode())
        ending = tail.with_guess(guess.encode())
        assert ending is not None
        assert tail.tokens[: tail.num_settled] + ending == written.tokens
        assert state(tail) == before


def test_what_the_vocabulary_cannot_spell_is_left_out_in_the_end() -> None:
    tail = ReplyTail(AsciiVocabulary())
    assert tail.extend(b"the ")
    assert not tail.extend("🙂".encode())
    while not tail.extend(b" the"):
        pass
    assert bytes_of(tail.tokens).endswith(b" the")


def test_a_guess_that_the_vocabulary_cannot_spell_is_none() -> None:
    tail = ReplyTail(AsciiVocabulary())
    tail.extend(b"the ")
    assert tail.with_guess("🙂".encode()) is None
    assert tail.extend(b"in")
    assert bytes_of(tail.tokens) == b"the in"
