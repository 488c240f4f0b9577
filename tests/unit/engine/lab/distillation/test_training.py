"""A tiny drafter learns a tiny language, from tokens or from distributions, in one go or after a kill."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from transformers import LlamaConfig, LlamaForCausalLM

from engine.lab.distillation.progress import TrainingProgress
from engine.lab.distillation.training import DistillationSettings, Lessons, train
from engine.speculation.learning.evaluation import count_hits
from engine.speculation.learning.samples import LabelTable, Sample
from engine.values.errors import FileUnusable

VOCABULARY = 24
NO_LABELS = LabelTable(np.zeros((0, 1), np.int32), np.zeros((0, 1), np.float16))
BRIEF = DistillationSettings(seconds=60, learning_rate=2e-2, steps=30)


def model() -> LlamaForCausalLM:
    torch.manual_seed(3)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            tie_word_embeddings=True,
        )
    )


def sample(reply: list[int], row: int = -1) -> Sample:
    tokens = np.array([1, 2, *reply], np.int32)
    weights = np.array([0, 0, *[1] * len(reply)], np.float32)
    rows = np.where(weights > 0, row, -1).astype(np.int32)
    return Sample(tokens, weights, rows, 2)


COUNTING = [sample([5, 6, 7, 8, 9, 0]) for _ in range(8)]


def test_training_makes_guesses_right() -> None:
    trained, told = model(), list[TrainingProgress]()
    state = train(trained, VOCABULARY, Lessons(COUNTING, NO_LABELS, COUNTING[:1]), BRIEF, None, told.append)
    assert state.step == 30
    assert told[-1].loss < told[0].loss / 5
    hits = count_hits(trained, VOCABULARY, COUNTING)
    assert hits.agreement > 0.9
    assert hits.accepted_per_round > 2
    assert len(hits.by_place) == 4


def test_the_distribution_is_learned_where_it_is_known_and_not_the_token_alone() -> None:
    """The target wrote 5, but had thought of 6 with three times the weight."""
    labels = LabelTable(np.array([[5, 6]], np.int32), np.array([[0.25, 0.75]], np.float16))
    trained = model()
    settings = replace(BRIEF, token_share=0.0)
    train(trained, VOCABULARY, Lessons([sample([5], 0)] * 4, labels, COUNTING[:1]), settings, None, lambda _: None)
    distribution = torch.softmax(trained(torch.tensor([[1, 2]])).logits[0, -1].detach(), -1)
    assert float(distribution[6]) == pytest.approx(0.75, abs=0.05)
    assert float(distribution[5]) == pytest.approx(0.25, abs=0.05)


def test_tokens_beyond_those_that_can_be_guessed_teach_nothing() -> None:
    trained = model()
    mixed = [sample([5, 20, 5, 20, 5])] * 4
    told: list[TrainingProgress] = []
    train(trained, 10, Lessons(mixed, NO_LABELS, COUNTING[:1]), BRIEF, None, told.append)
    assert np.isfinite([progress.loss for progress in told]).all()
    assert count_hits(trained, 10, mixed).agreement == pytest.approx(3 / 5)


@pytest.mark.parametrize("end", [RuntimeError, KeyboardInterrupt])
def test_after_a_sudden_end_it_goes_on_as_if_nothing_had_been(tmp_path: Path, end: type[BaseException]) -> None:
    random = np.random.default_rng(0)
    lessons = Lessons([sample(random.integers(3, 20, 6).tolist()) for _ in range(40)], NO_LABELS, COUNTING[:1])
    settings = replace(BRIEF, steps=12, tokens_per_step=64, save_every_s=0.0)

    def run(checkpoint: Path | None, stop_at: int | None) -> LlamaForCausalLM:
        trained = model()

        def watch(progress: TrainingProgress) -> None:
            if progress.step == stop_at:
                raise end

        try:
            train(trained, VOCABULARY, lessons, settings, checkpoint, watch)
        except end:
            assert stop_at is not None
        return trained

    whole = run(None, None)
    checkpoint = tmp_path / "checkpoint.safetensors"
    run(checkpoint, stop_at=7)
    with safe_open(checkpoint, "pt") as file:
        step = json.loads(file.metadata()["state"])["step"]
    assert step == (7 if end is KeyboardInterrupt else 6)  # a kill leaves no time to save the last one
    resumed = run(checkpoint, None)
    for (name, one), (_, other) in zip(whole.named_parameters(), resumed.named_parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4, msg=name)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.safetensors"]


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint.safetensors"
    lessons = Lessons(COUNTING, NO_LABELS, COUNTING[:1])
    checkpoint.write_bytes(b"nothing of the kind")
    with pytest.raises(FileUnusable, match="remove the file to start it again"):
        train(model(), VOCABULARY, lessons, BRIEF, checkpoint, lambda _: None)
    checkpoint.unlink()
    train(model(), VOCABULARY, lessons, replace(BRIEF, steps=1), checkpoint, lambda _: None)
    other = LlamaForCausalLM(LlamaConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2))
    with pytest.raises(FileUnusable, match="cannot be gone on with"):
        train(other, 9, lessons, BRIEF, checkpoint, lambda _: None)


def test_the_judge_is_asked_now_and_then() -> None:
    asked: list[float] = []
    settings = replace(BRIEF, steps=5, judge_every_s=0.0)
    train(model(), VOCABULARY, Lessons(COUNTING, NO_LABELS, COUNTING[:1]), settings, None, lambda _: None, asked.append)
    assert len(asked) >= 4
    assert asked == sorted(asked)
