"""What a target thought of given replies, read with torch or with the target itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from engine.lab.distillation.corpus import NUM_LIKELIEST, read_labels
from engine.lab.distillation.cut import GgufSource
from engine.lab.distillation.progress import LabelProgress
from engine.lab.distillation.teacher import TargetTeacher, Teacher, Thought, TorchTeacher, label_lessons
from engine.speculation.learning.samples import CorpusLesson, Labels
from engine.speculation.model.interface import Target
from engine.values.config import TargetSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.stop_signal import StopSignal
from tests.fakes.tiny_models import tiny_llama
from tests.unit.engine.speculation.drafter.checkpoints import random_llama, reference_logits


def _lessons(count: int, vocabulary: int) -> list[CorpusLesson]:
    random = np.random.default_rng(0)
    turns = (ChatTurn(Role.USER, "Hi"),)
    return [
        CorpusLesson(line, turns, random.integers(3, vocabulary, random.integers(8, 40)).astype(np.int32), 5)
        for line in range(count)
    ]


class _Source(GgufSource):
    """A model that is already loaded."""

    def __init__(self, model: LlamaForCausalLM) -> None:
        self.config: LlamaConfig = model.config
        self._model = model.model
        self._tensors = {}  # no head of its own

    def layer(self, index: int) -> dict[str, torch.Tensor]:
        layer: dict[str, torch.Tensor] = self._model.layers[index].state_dict()
        return layer

    def _tensor(self, name: str) -> torch.Tensor:
        weights = {"token_embd.weight": self._model.embed_tokens, "output_norm.weight": self._model.norm}
        weight: torch.Tensor = weights[name].weight.detach()
        return weight


def test_torch_thinks_as_transformers_does() -> None:
    model = random_llama(num_key_value_heads=2)
    lessons = _lessons(7, 512)
    thoughts = {lesson.line: labels for lesson, labels in TorchTeacher(_Source(model)).label(lessons)}
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
    lesson = CorpusLesson(0, (ChatTurn(Role.USER, "Hi"),), ids, 3)
    ((_, labels),) = TargetTeacher(fresh_starter, StopSignal()).label([lesson])
    fresh_starter.roll_back(0)
    rows = fresh_starter.evaluate(ids.tolist(), len(ids), StopSignal())
    assert (labels.tokens[:, 0] == rows[lesson.start - 1 : -1].argmax(-1)).mean() > 0.8  # near ties may turn
    assert (np.exp(labels.log_probabilities.astype(np.float32)).sum(-1) <= 1.01).all()


class _Once:
    """Thinks of nothing much, and of no lesson twice."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.seen: list[int] = []
        self.is_open = False
        self._fail_at = fail_at

    @contextmanager
    def open(self) -> Iterator[_Once]:
        self.is_open = True
        try:
            yield self
        finally:
            self.is_open = False

    def label(self, lessons: Sequence[CorpusLesson]) -> Iterator[tuple[CorpusLesson, Labels]]:
        for lesson in lessons:
            if lesson.line == self._fail_at:
                raise KeyboardInterrupt
            self.seen.append(lesson.line)
            size = (len(lesson.reply), NUM_LIKELIEST)
            yield lesson, Labels(np.full(size, lesson.line, np.int32), np.zeros(size, np.float16))

    def think(self, lessons: Sequence[CorpusLesson]) -> Iterator[Thought]:
        for lesson, labels in self.label(lessons):
            yield lesson, labels, torch.full((len(lesson.reply), 4), lesson.line, dtype=torch.bfloat16)


def _never() -> AbstractContextManager[Teacher]:
    raise AssertionError


def test_reading_goes_on_after_the_last_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.lab.distillation.teacher._SHARD_SIZE", 4)
    lessons = _lessons(10, 512)
    first, again = _Once(fail_at=6), _Once()
    with pytest.raises(KeyboardInterrupt):
        label_lessons(lessons, first.open, tmp_path, lambda _: None)
    assert not first.is_open
    told: list[LabelProgress] = []
    files = label_lessons(lessons, again.open, tmp_path, told.append)
    assert again.seen == [4, 5, 6, 7, 8, 9]
    assert (told[0], told[-1]) == (LabelProgress(5, 10), LabelProgress(10, 10))
    labels = read_labels(files, {lesson.line: lesson for lesson in lessons})
    assert all((labels[lesson.line].tokens == lesson.line).all() for lesson in lessons)
    assert label_lessons(lessons, _never, tmp_path, told.append) == files


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[Target]:
    """Its context is soon full, and yet takes more than one pass."""
    from engine.speculation.model.llama.llama_cpp import LlamaCppTarget

    path, settings = tiny_llama(tmp_path / "tiny.gguf"), TargetSettings(context_size=640)
    target = LlamaCppTarget.load(path, "tiny", settings, lambda _progress: None, StopSignal())
    yield target
    target.close()


def test_what_is_beyond_the_context_of_a_target_says_nothing(narrow: Target) -> None:
    size = narrow.limits.context_size
    ids = np.full(size + 40, 100, np.int32)
    turns = (ChatTurn(Role.USER, "Hi"),)
    lessons = [CorpusLesson(0, turns, ids, size + 10), CorpusLesson(1, turns, ids[: size + 2], size - 1)]
    (_, beyond), (_, partly) = TargetTeacher(narrow, StopSignal()).label(lessons)
    assert np.isneginf(beyond.log_probabilities).all()
    assert np.isfinite(partly.log_probabilities[0]).all()
    assert np.isneginf(partly.log_probabilities[-1]).all()
