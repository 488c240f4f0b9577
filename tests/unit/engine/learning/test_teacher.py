"""What a target thought of given replies, read with torch or with the target itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from engine.learning.corpus import Lesson
from engine.learning.labels import NUM_LIKELIEST, Labels, read_labels
from engine.learning.progress import LabelProgress
from engine.learning.teacher import TargetTeacher, TorchTeacher, label_lessons
from engine.records import ChatTurn, Role
from engine.stop_signal import StopSignal
from engine.target.interface import Target
from tests.unit.engine.drafter.checkpoints import random_llama, reference_logits


def _lessons(count: int, vocabulary: int) -> list[Lesson]:
    random = np.random.default_rng(0)
    turns = (ChatTurn(Role.USER, "Hi"),)
    return [
        Lesson(line, turns, random.integers(3, vocabulary, random.integers(8, 40)).astype(np.int32), 5)
        for line in range(count)
    ]


class _Source:
    """Implements `engine.learning.source.LlamaSource` for a model that is there."""

    def __init__(self, model: LlamaForCausalLM) -> None:
        self.config: LlamaConfig = model.config
        self._model = model.model
        self.embedding: torch.Tensor = model.model.embed_tokens.weight.detach()
        self.head = self.embedding
        self.norm: torch.Tensor = model.model.norm.weight.detach()

    def layer(self, index: int) -> dict[str, torch.Tensor]:
        layer: dict[str, torch.Tensor] = self._model.layers[index].state_dict()
        return layer


def test_torch_thinks_as_transformers_does() -> None:
    model = random_llama(num_key_value_heads=2)
    lessons = _lessons(7, 512)
    thoughts = {lesson.line: labels for lesson, labels in TorchTeacher(_Source(model)).think(lessons)}
    assert sorted(thoughts) == list(range(7))
    for lesson in lessons:
        logits = reference_logits(model, lesson.ids.tolist())[lesson.start - 1 : -1]
        expected = logits.log_softmax(-1).numpy()
        labels = thoughts[lesson.line]
        assert labels.tokens.shape == (len(lesson.reply), NUM_LIKELIEST)
        for row, tokens, logs in zip(expected, labels.tokens, labels.log_probabilities, strict=True):
            np.testing.assert_allclose(logs, row[tokens], atol=0.15)  # of bfloat16
            assert row[tokens[0]] > row.max() - 0.15


@pytest.mark.starter
def test_a_target_thinks_what_it_samples_from(fresh_starter: Target) -> None:
    ids = np.array(fresh_starter.tokenize("The quick brown fox jumps over the lazy dog."), np.int32)
    lesson = Lesson(0, (ChatTurn(Role.USER, "Hi"),), ids, 3)
    ((_, labels),) = TargetTeacher(fresh_starter, StopSignal()).think([lesson])
    fresh_starter.roll_back(0)
    rows = fresh_starter.evaluate(ids.tolist(), len(ids), StopSignal())
    assert (labels.tokens[:, 0] == rows[lesson.start - 1 : -1].argmax(-1)).mean() > 0.8  # near ties may turn
    assert (np.exp(labels.log_probabilities.astype(np.float32)).sum(-1) <= 1.01).all()


class _Once:
    """Thinks of nothing much, and of no lesson twice."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.seen: list[int] = []
        self._fail_at = fail_at

    def think(self, lessons: Sequence[Lesson]) -> Iterator[tuple[Lesson, Labels]]:
        for lesson in lessons:
            if lesson.line == self._fail_at:
                raise KeyboardInterrupt
            self.seen.append(lesson.line)
            size = (len(lesson.reply), NUM_LIKELIEST)
            yield lesson, Labels(np.full(size, lesson.line, np.int32), np.zeros(size, np.float16))


def test_reading_goes_on_after_the_last_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.learning.teacher._SHARD", 4)
    lessons = _lessons(10, 512)
    with pytest.raises(KeyboardInterrupt):
        label_lessons(lessons, _Once(fail_at=6), tmp_path, lambda _: None)
    told: list[LabelProgress] = []
    again = _Once()
    files = label_lessons(lessons, again, tmp_path, told.append)
    assert again.seen == [4, 5, 6, 7, 8, 9]
    assert told[-1] == LabelProgress(10, 10)
    labels = read_labels(files, {lesson.line: lesson for lesson in lessons})
    assert all((labels[lesson.line].tokens == lesson.line).all() for lesson in lessons)
