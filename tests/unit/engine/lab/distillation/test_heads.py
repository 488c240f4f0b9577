"""Heads are made for a tiny target: from conversations to a folder that guesses, also after a stop."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.lab.distillation.corpus import read_lessons
from engine.lab.distillation.heads import HeadsModel, HeadVocabulary, count_hits, distill_heads
from engine.lab.distillation.progress import DistillProgress, Judgement, TrainingProgress
from engine.lab.distillation.teacher import TargetTeacher
from engine.lab.distillation.thoughts import ReplyStates, ThoughtShards
from engine.speculation.drafter.heads import load_heads
from engine.speculation.model.files.sources import file_source
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.values.config import TargetSettings
from engine.values.distilling import DistillSettings
from engine.values.errors import DrafterUnusable, FileUnusable
from engine.values.stop_signal import StopSignal
from tests.fakes.tiny_models import tiny_llama

HIDDEN = 64
TURN = {"role": "user", "text": "Count."}
CYCLE = [*range(270, 274)]  # what every reply says, over and over, in tokens of the tiny model


def corpus(path: Path, num_lessons: int) -> Path:
    """Replies that go round in a circle, beginning anywhere."""
    lines = []
    for number in range(num_lessons):
        reply = [CYCLE[(number + place) % len(CYCLE)] for place in range(10)]
        lines.append(json.dumps({"ids": [1, 5, 6, *reply], "a": 3, "turns": [TURN]}))
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tiny_llama(tmp_path / "tiny.gguf")


@pytest.fixture
def settings(tmp_path: Path, target: Path) -> DistillSettings:
    return DistillSettings(
        target=str(target),
        heads=2,
        corpus=(corpus(tmp_path / "corpus.jsonl", 12),),
        held_back=(corpus(tmp_path / "held-back.jsonl", 4),),
        minutes=0.03,
        learning_rate=1e-2,
    )


def made(settings: DistillSettings, folder: Path, on_progress: Callable[[DistillProgress], None]) -> None:
    distill_heads(settings, file_source(Path(settings.target)), folder, on_progress)


def test_heads_learn_what_follows_and_are_written_with_a_card(
    settings: DistillSettings, target: Path, tmp_path: Path
) -> None:
    told: list[DistillProgress] = []
    made(settings, tmp_path / "heads", told.append)
    steps = [each for each in told if isinstance(each, TrainingProgress)]
    assert steps[-1].loss < steps[0].loss
    (judgement,) = (each for each in told if isinstance(each, Judgement))
    assert len(judgement.texts[0].accepted) == 2
    card = (tmp_path / "heads" / "README.md").read_text()
    assert "2 heads that guess" in card
    assert "first-head agreement" in card
    tokens, _ = load_heads(tmp_path / "heads", target).guess(np.ones(HIDDEN, np.float32), 270)
    assert {each for some in tokens for each in some} <= {*CYCLE}
    with pytest.raises(DrafterUnusable, match="exists already"):
        made(settings, tmp_path / "heads", told.append)


def test_what_was_stopped_goes_on(settings: DistillSettings, tmp_path: Path) -> None:
    def stop(progress: DistillProgress) -> None:
        if isinstance(progress, TrainingProgress) and progress.step >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(settings, tmp_path / "heads", stop)
    assert not (tmp_path / "heads").exists()
    told: list[DistillProgress] = []
    made(settings, tmp_path / "heads", told.append)
    assert next(each.step for each in told if isinstance(each, TrainingProgress)) >= 3
    others = replace(settings, heads=3, work=tmp_path / "heads.work")
    with pytest.raises(FileUnusable, match="other settings"):
        made(others, tmp_path / "others", told.append)


def test_what_is_beyond_the_budget_is_read_again_and_is_the_same(
    settings: DistillSettings, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.lab.distillation.thoughts._SHARD_SIZE", 4)
    model = LlamaCppTarget.load(target, "tiny", TargetSettings(threads=1), lambda _: None, StopSignal())
    lessons = list(read_lessons(settings.corpus[0], model.vocabulary.pieces))
    teacher = TargetTeacher(model, StopSignal())
    one_shard = 40 * (2 * HIDDEN + 6 * 24)
    kept = ThoughtShards(lessons, tmp_path / "kept", HIDDEN, float("inf"), lambda: teacher)
    few = ThoughtShards(lessons, tmp_path / "few", HIDDEN, one_shard, lambda: teacher)
    for shards in (kept, few):
        shards.prepare(lambda _: None)
    assert [len([*(tmp_path / name).iterdir()]) for name in ("kept", "few")] == [3, 1]
    for number in range(3):
        ours, theirs = kept.read(number), few.read(number)
        assert torch.equal(ours.states, theirs.states)
        assert torch.equal(ours.tokens, theirs.tokens)
        assert ours.states.shape == (40, HIDDEN)
        assert ours.ends.tolist() == [10] * 10 + [20] * 10 + [30] * 10 + [40] * 10
    model.close()
    (tmp_path / "kept" / "00001.safetensors").write_bytes(b"nothing")
    with pytest.raises(FileUnusable, match=r"00001\.safetensors"):
        kept.read(1)


def test_hits_are_counted_round_by_round_and_not_beyond_a_reply() -> None:
    """Every head says what the state says; of two replies the second begins where the first ends."""
    written = torch.tensor([0, 1, 1, 2, 0, 0])
    said = torch.tensor([1, 1, 1, 0, 0, 0])  # by the states
    words = HeadVocabulary(
        torch.arange(3),
        torch.eye(3, dtype=torch.bfloat16),
        torch.arange(3),
        torch.zeros((3, 3), dtype=torch.bfloat16),
        torch.arange(3),
    )
    thoughts = ReplyStates(
        torch.eye(3, dtype=torch.bfloat16)[said],
        written,
        torch.tensor([4, 4, 4, 4, 6, 6]),
        torch.ones(6),
        written[:, None].to(torch.int32),
        torch.zeros((6, 1), dtype=torch.float16),
    )
    hits = count_hits(HeadsModel(2, 3, 1.0), words, thoughts)
    # From row 0 both are right; row 3 has nothing to guess; row 4: the first is right; the reply ends.
    assert hits.tokens_per_round == pytest.approx(1 + 3 / 3)
    assert hits.by_place == pytest.approx((2 / 3, 1 / 2))
    assert hits.agreement == pytest.approx(3 / 4)
