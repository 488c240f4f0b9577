"""Sequences side by side on the real starter: each has the rows it has alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.interface import FloatRow, Interrupted, ParallelTarget, Target
from engine.speculation.model.llama.batch import BatchTarget
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.values.config import TargetSettings
from engine.values.errors import TargetMissing
from engine.values.stop_signal import StopSignal

pytestmark = pytest.mark.starter

PROMPTS = (
    "Name three colours.",
    "Write a Python function that adds.",
    "Hi",
    "Why is the sky blue? Tell me in one line.",
)


def load(num_slots: int, context_size: int | None) -> BatchTarget:
    settings = TargetSettings(context_size=context_size)
    return BatchTarget.load(starter_path(), "starter", settings, lambda _progress: None, StopSignal(), num_slots)


@pytest.fixture(scope="module")
def loaded() -> Iterator[BatchTarget]:
    target = load(4, 256)
    yield target
    target.close()


@pytest.fixture
def batch(loaded: BatchTarget) -> ParallelTarget:
    for slot in range(loaded.num_slots):
        loaded.drop(slot)
    return loaded


def prompt(target: Target | ParallelTarget, text: str) -> list[int]:
    return target.tokenize(f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n")


def assert_alike(row: FloatRow, tokens: list[int], alone: Target) -> None:
    """Passes over other numbers of rows round otherwise; log-probabilities of what is likely agree all the same."""
    alone.roll_back(0)
    expected = alone.evaluate(tokens, 1, StopSignal())[0]
    likely = np.argsort(-expected)[:10]
    logs, expected_logs = (values[likely] - np.logaddexp.reduce(values) for values in (row, expected))
    np.testing.assert_allclose(logs, expected_logs, atol=0.3)
    assert expected.max() - expected[row.argmax()] < 0.3


def test_it_describes_itself(batch: ParallelTarget, fresh_starter: Target) -> None:
    assert (batch.num_slots, batch.limits.context_size) == (4, 256)
    assert batch.vocabulary == fresh_starter.vocabulary
    assert batch.description.chat_template == fresh_starter.description.chat_template
    assert batch.tokenize("Hello!") == fresh_starter.tokenize("Hello!")


def test_rows_are_those_of_the_sequence_alone(batch: ParallelTarget, fresh_starter: Target) -> None:
    held = {slot: prompt(batch, text) for slot, text in enumerate(PROMPTS)}
    tokens = held
    for _ in range(3):
        rows = batch.evaluate(tokens)
        assert list(rows) == [0, 1, 2, 3]
        for slot, row in rows.items():
            assert row.shape == (len(batch.vocabulary),)
            assert not row.flags.writeable
            assert_alike(row, held[slot], fresh_starter)
        tokens = {slot: [int(row.argmax())] for slot, row in rows.items()}
        held = {slot: held[slot] + tokens[slot] for slot in held}


def test_a_slot_is_used_again_while_the_others_go_on(batch: ParallelTarget, fresh_starter: Target) -> None:
    held = {slot: prompt(batch, text) for slot, text in enumerate(PROMPTS)}
    batch.evaluate(held)
    batch.drop(1)
    batch.drop(2)
    comma = batch.tokenize(",")
    held = {0: held[0] + comma, 2: prompt(batch, "Count to ten."), 3: held[3] + comma}
    rows = batch.evaluate({0: comma, 2: held[2], 3: comma})  # with a gap, and in passes of different lengths
    for slot, row in rows.items():
        assert_alike(row, held[slot], fresh_starter)


def test_every_slot_can_be_filled_to_the_brim(batch: ParallelTarget) -> None:
    tokens = (batch.tokenize("over and ") * 200)[:256]
    rows = batch.evaluate(dict.fromkeys(range(4), tokens))
    for row in rows.values():
        assert np.abs(row - rows[0]).max() < 1


def test_what_cannot_be_opened_is_told_as_by_the_other_target(tmp_path: Path) -> None:
    with pytest.raises(TargetMissing):
        BatchTarget.load(tmp_path / "no.gguf", "no", TargetSettings(), lambda _progress: None, StopSignal())


def test_closing_twice_is_harmless() -> None:
    target = load(1, 64)
    assert np.isfinite(target.evaluate({0: [1, 2]})[0]).all()
    target.close()
    target.close()


def read_on(target: BatchTarget, tokens: list[int], stop: StopSignal) -> None:
    while True:
        target.evaluate({0: tokens, 1: tokens}, stop)
        for slot in (0, 1):
            target.drop(slot)


def test_beside_a_chat_it_stays_as_it_is_and_a_stop_ends_a_pass_in_its_middle(fresh_starter: Target) -> None:
    assert isinstance(fresh_starter, LlamaCppTarget)
    chat = prompt(fresh_starter, PROMPTS[0])
    fresh_starter.evaluate(chat[:-1], 1, StopSignal())
    beside = BatchTarget.beside(fresh_starter, 3, 256)
    try:
        other, stop = prompt(beside, PROMPTS[1]), StopSignal()
        assert beside.vocabulary is fresh_starter.vocabulary
        beside.evaluate({0: other[:-1]}, stop)
        beside.copy(0, 1)
        beside.drop(0)
        beside.copy(1, 2)
        rows = beside.evaluate({1: other[-1:], 2: other[-1:]}, stop)
        copied = [rows[slot].copy() for slot in (1, 2)]
        for slot in (1, 2):
            beside.drop(slot)
        timer = threading.Timer(0.05, stop.set)
        timer.start()
        with pytest.raises(Interrupted):
            read_on(beside, (other * 20)[:250], stop)
        timer.join()
        with pytest.raises(Interrupted):
            beside.evaluate({0: other}, stop)
        assert np.isfinite(beside.evaluate({0: other}, StopSignal())[0]).all(), "all slots were emptied"
    finally:
        beside.close()
    assert fresh_starter.num_held == len(chat) - 1
    after = fresh_starter.evaluate(chat[-1:], 1, StopSignal())[0].copy()
    fresh_starter.roll_back(0)
    fresh_starter.evaluate(chat[:-1], 1, StopSignal())
    np.testing.assert_array_equal(after, fresh_starter.evaluate(chat[-1:], 1, StopSignal())[0])
    for row in copied:
        assert_alike(row, other, fresh_starter)
