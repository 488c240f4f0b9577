from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import llama_cpp  # noqa: F401, no plain tests
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculation.model.interface import FloatRows, Interrupted, TargetFeature, Vocabulary
from engine.speculation.model.llama.trace import TraceTarget
from engine.values.stop_signal import StopSignal
from tests.fakes.target import END, FakeTarget

VOCABS = Path(__file__).parents[7] / "shared" / "data" / "vocabs"


class FakeVocabulary:
    """Implements `model.interface.TokenizingVocabulary`, with the fake target's tokens."""

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        self._target = FakeTarget()
        self.vocabulary = vocabulary or self._target.vocabulary
        self.closed = False

    def tokenize(self, text: str) -> list[int]:
        return self._target.tokenize(text)

    def close(self) -> None:
        self.closed = True


def opened(vocabulary: FakeVocabulary | None = None) -> TraceTarget:
    return TraceTarget(vocabulary or FakeVocabulary(), Path("fake-vocab.gguf"))


def said(rows: FloatRows) -> list[int]:
    """The one token of each row that is certain; there must be no other."""
    assert (np.count_nonzero(rows, axis=1) == 1).all()
    assert (rows.max(axis=1) == 30).all()
    return [int(token) for token in rows.argmax(axis=1)]


def test_it_says_what_was_recorded_and_then_the_end() -> None:
    target = opened()
    prompt, num_tokens = target.replay("Hi?", "Yes")
    assert num_tokens == 3
    assert said(target.evaluate(prompt, 1, StopSignal())) == list(b"Y")
    assert said(target.evaluate([*b"Y"], 1, StopSignal())) == list(b"e")
    assert said(target.evaluate([*b"es"], 2, StopSignal())) == [*b"s", END]
    assert target.num_held == len(prompt) + 3


def test_a_wrong_token_and_its_way_back_leave_the_recording_whole() -> None:
    target = opened()
    prompt, _ = target.replay("Hi?", "Yes")
    target.evaluate(prompt, 1, StopSignal())
    assert said(target.evaluate([*b"Yxs"], 3, StopSignal())) == [*b"e", END, END]
    assert target.roll_back(len(prompt) + 1)
    assert said(target.evaluate([*b"e"], 1, StopSignal())) == list(b"s")


def test_a_new_recording_begins_with_nothing_held() -> None:
    target = opened()
    prompt, _ = target.replay("Hi?", "Yes")
    target.evaluate([*prompt, *b"Y"], 2, StopSignal())
    prompt, _ = target.replay("Hello?", "No")
    assert target.num_held == 0
    assert said(target.evaluate([*prompt, *b"N"], 2, StopSignal())) == [*b"No"]


@given(st.text("abc", min_size=1, max_size=12), st.lists(st.tuples(st.integers(1, 6), st.booleans()), max_size=12))
def test_rows_are_right_after_any_passes_and_rollbacks(response: str, moves: list[tuple[int, bool]]) -> None:
    target = opened()
    prompt, _ = target.replay("p", response)
    recording = [*prompt, *response.encode(), END]
    held: list[int] = []
    for count, is_true in moves:
        new = [
            recording[place] if is_true and place < len(recording) else 0
            for place in range(len(held), len(held) + count)
        ]
        rows = target.evaluate(new, count, StopSignal())
        for place, token in enumerate(said(rows), len(held) + 1):
            true_so_far = place < len(recording) and [*held, *new][:place] == recording[:place]
            assert token == (recording[place] if true_so_far else END)
        held = [*held, *new][: len(held) + count // 2]
        assert target.roll_back(len(held))
        assert target.num_held == len(held)


def test_of_a_tree_only_the_branch_that_was_recorded_goes_on() -> None:
    target = opened()
    prompt, _ = target.replay("Hi?", "Yes")
    target.evaluate(prompt, 1, StopSignal())
    rows = target.evaluate_tree(ord("Y"), [*b"aesx"], (-1, -1, 1, 0), StopSignal())
    assert said(rows) == [ord("e"), END, ord("s"), END, END]
    target.keep_branch((1,))
    assert target.num_held == len(prompt) + 2
    assert said(target.evaluate([*b"s"], 1, StopSignal())) == [END]


def test_all_passes_share_one_buffer_that_nobody_else_writes() -> None:
    target = opened()
    prompt, _ = target.replay("Hi?", "Yes")
    first = target.evaluate(prompt, 2, StopSignal())
    second = target.evaluate([*b"Y"], 1, StopSignal())
    assert np.shares_memory(first, second)
    assert first.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        second[0, 0] = 1


def test_a_stop_ends_a_pass_before_it_begins() -> None:
    target = opened()
    prompt, _ = target.replay("Hi?", "Yes")
    stop = StopSignal()
    stop.set()
    with pytest.raises(Interrupted):
        target.evaluate(prompt, 1, stop)
    assert target.num_held == 0


def test_without_a_token_that_ends_replies_the_end_of_texts_does() -> None:
    vocabulary = replace(FakeTarget().vocabulary, end_of_generation=frozenset[int]())
    target = opened(FakeVocabulary(vocabulary))
    assert target.vocabulary.end_of_generation == {END}
    assert not opened(FakeVocabulary(replace(vocabulary, end=None))).vocabulary.end_of_generation


def test_a_vocabulary_that_begins_its_prompts_does_so() -> None:
    target = opened(FakeVocabulary(replace(FakeTarget().vocabulary, begin=3, begins_prompts=True)))
    assert target.replay("Hi", "Yes")[0] == [3, *b"Hi"]


def test_it_offers_all_that_drafts_need_and_closes_what_it_owns() -> None:
    vocabulary = FakeVocabulary()
    target = opened(vocabulary)
    assert target.features == {TargetFeature.ROLLBACK, TargetFeature.BRANCHES}
    assert target.description.name == "fake-vocab"
    target.close()
    assert vocabulary.closed


@pytest.mark.shared_data
@pytest.mark.skipif(not VOCABS.exists(), reason="the shared measuring data is not here")
@pytest.mark.parametrize("name", ["llama-bpe", "llama-spm", "qwen2"])
def test_a_recorded_reply_comes_back_in_a_real_vocabulary(name: str) -> None:
    from engine.speculation.model.llama.vocabulary import load_vocabulary

    path = VOCABS / f"ggml-vocab-{name}.gguf"
    target = TraceTarget(load_vocabulary(path), path)
    try:
        text = "Grüße! Here is a list:\n\n1. One 🌊\n2. Two"
        prompt, num_tokens = target.replay("user: Hello\n\nassistant:", text)
        rows = target.evaluate(prompt, 1, StopSignal())
        tokens = []
        while (token := int(rows[0].argmax())) not in target.vocabulary.end_of_generation:
            tokens.append(token)
            rows = target.evaluate([token], 1, StopSignal())
        assert len(tokens) == num_tokens
        written = b"".join(target.vocabulary.pieces[token] for token in tokens).decode()
        assert written.removeprefix(" ") == text  # SentencePiece begins every text with a space
    finally:
        target.close()
