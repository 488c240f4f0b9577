"""The making of heads for a target: conversations, the target's states in them, training, a folder."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from engine.lab.distillation.corpus import corpus_files, read_lessons
from engine.lab.distillation.folder import write_folder
from engine.lab.distillation.heads_training import HeadHits, HeadsModel, HeadVocabulary, count_hits, train_heads
from engine.lab.distillation.progress import DistillProgress, Judgement, TextFigures
from engine.lab.distillation.recipe import LabelledLessons, begin, split
from engine.lab.distillation.target_side import TargetSide
from engine.lab.distillation.teacher import Teacher
from engine.lab.distillation.thoughts import ReplyStates, ThoughtShards
from engine.lab.distillation.training import DistillationSettings, TrainingState
from engine.lab.distillation.work import WorkFolder
from engine.speculation.drafter.heads import HeadWeights, TargetMatrices, TorchHeads, save_heads
from engine.speculation.drafter.heads_folder import WEIGHTS, HeadsConfig
from engine.speculation.learning.samples import CorpusLesson
from engine.speculation.proposers.heads import measure_guess
from engine.values.config import DistillSettings
from engine.values.errors import DrafterUnusable, FileUnusable, TargetUnsupported
from engine.values.targets import TargetSource

_GIGABYTE = 1e9
_TEXT = "replies of this target, held back"


def distill_heads(
    settings: DistillSettings, file: TargetSource, folder: Path, on_progress: Callable[[DistillProgress], None]
) -> None:
    """Makes heads in `folder`, which gets its name when all of it is written. After a kill, it resumes when it is
    called again with the same settings.

    Raises TargetUnsupported, TargetUnusable, FileUnusable, even when something cannot be written, DrafterUnusable when
    `folder` exists already, and what the target raises.
    """
    assert settings.heads is not None
    target = TargetSide(settings, file)
    try:
        matrices = TargetMatrices(file.path)
    except DrafterUnusable as error:
        raise TargetUnsupported(str(error)) from error
    work = begin(settings, folder)
    if not settings.corpus:
        target.invent(work.corpus, on_progress)
    files = corpus_files(settings.corpus or (work.corpus,))
    parts = [LabelledLessons(list(read_lessons(path, target.vocabulary.pieces)), {}) for path in files]
    parts, held_back = split(settings, parts, target)
    lessons = list(chain.from_iterable(part.lessons for part in parts))
    if not lessons or not held_back:
        raise FileUnusable("There are too few conversations to learn from some and judge by others; give more.")
    with ExitStack() as stack:
        teacher = cache(lambda: stack.enter_context(target.open_teacher()))  # when there is something to read, and once
        thoughts, judged = _thoughts(settings, work, matrices, teacher, lessons, held_back, on_progress)
        words = _words(matrices, lessons, held_back, settings.num_outputs)
        scale = float(thoughts.read(0).states.to(torch.float32).square().mean().sqrt())
        model = HeadsModel(settings.heads, matrices.hidden, scale)

        def judge(seconds: float) -> tuple[HeadHits, Judgement]:
            hits = count_hits(model, words, judged)
            judgement = _judgement(hits, model.weights(words.outputs), matrices, seconds)
            on_progress(judgement)
            return hits, judgement

        seconds, judge_every_s = 60 * settings.minutes, 60 * settings.judge_every_minutes
        training = DistillationSettings(seconds, settings.learning_rate, settings.seed, judge_every_s=judge_every_s)
        state = train_heads(model, words, thoughts, judged, training, work.checkpoint, on_progress, judge)
    card = _card(settings, file, model.weights(words.outputs), lessons, held_back, state, *judge(state.seconds))
    config = HeadsConfig(file.identity, file.name, settings.heads, matrices.hidden, len(words.outputs), scale)
    write_folder(
        folder,
        {
            "config.json": json.dumps(config.content, indent=2).encode(),
            WEIGHTS: save_heads(model.weights(words.outputs)),
            "README.md": card.encode(),
        },
    )


def _thoughts(
    settings: DistillSettings,
    work: WorkFolder,
    matrices: TargetMatrices,
    teacher: Callable[[], Teacher],
    lessons: Sequence[CorpusLesson],
    held_back: Sequence[CorpusLesson],
    on_progress: Callable[[DistillProgress], None],
) -> tuple[ThoughtShards, ReplyStates]:
    """The states to learn from, and those to judge by, which are few."""
    judges = ThoughtShards(held_back, work.thoughts("held-back"), matrices.hidden, float("inf"), teacher)
    judges.prepare(on_progress)
    budget = _GIGABYTE * settings.states_gb
    thoughts = ThoughtShards(lessons, work.thoughts("lessons"), matrices.hidden, budget, teacher)
    thoughts.prepare(on_progress)
    return thoughts, ReplyStates.joined([judges.read(number) for number in range(len(judges))])


def _words(
    matrices: TargetMatrices, lessons: Sequence[CorpusLesson], held_back: Sequence[CorpusLesson], num_outputs: int
) -> HeadVocabulary:
    """The target's vocabulary, of which the most frequent tokens can be guessed."""
    tokens, counts = np.unique(np.concatenate([lesson.reply for lesson in lessons]), return_counts=True)
    outputs = np.sort(tokens[np.argsort(-counts, kind="stable")[:num_outputs]]).astype(np.int32)
    known = np.unique(np.concatenate([lesson.reply for lesson in (*lessons, *held_back)])).astype(np.int32)
    return HeadVocabulary(
        torch.from_numpy(outputs.astype(np.int64)),
        matrices.outputs(outputs).dense().to(torch.bfloat16),
        _places(outputs, matrices.num_tokens, -1),
        matrices.embeddings(known).to(torch.bfloat16),
        _places(known, matrices.num_tokens, 0),
    )


def _places(tokens: np.ndarray, num_tokens: int, otherwise: int) -> torch.Tensor:
    places = np.full(num_tokens, otherwise, np.int64)
    places[tokens] = np.arange(len(tokens))
    return torch.from_numpy(places)


def _judgement(hits: HeadHits, weights: HeadWeights, matrices: TargetMatrices, seconds: float) -> Judgement:
    step_s = measure_guess(TorchHeads(weights, matrices))
    return Judgement(seconds / 60, step_s * 1e3, (TextFigures(_TEXT, hits.tokens_per_round, hits.by_place),))


def _card(
    settings: DistillSettings,
    file: TargetSource,
    weights: HeadWeights,
    lessons: Sequence[CorpusLesson],
    held_back: Sequence[CorpusLesson],
    state: TrainingState,
    hits: HeadHits,
    judgement: Judgement,
) -> str:
    """The card in Markdown."""
    places = ", ".join(f"{share:.3f}" for share in hits.by_place)
    origin = ", ".join(path.name for path in settings.corpus) or f"{settings.conversations:,} that it invented"
    return f"""---
license: {settings.licence_name}
---
# Heads for {file.name}

{weights.num_heads} heads that guess the next tokens of one target from its last states, for Slipstream.

| | |
|---|---|
| target | {file.name}, `{file.identity}` |
| shape | {weights.num_heads} heads of {weights.hidden} × {2 * weights.hidden}, int8; they guess \
{len(weights.outputs):,} tokens, by the target's own output matrix |
| data | conversations that the target wrote itself ({origin}): \
{sum(len(lesson.reply) for lesson in lessons):,} reply tokens |
| loss | the target's own distribution at the place that is guessed; loops weighted down |
| training | {state.step:,} steps in {state.seconds / 60:.0f} minutes, {state.epoch + 1} epochs begun; AdamW, \
{settings.learning_rate:g}, cosine |
| machine | {platform.machine()}, {torch.get_num_threads()} threads |
| first-head agreement | {hits.agreement:.3f} with the target's likeliest token, on {len(held_back)} replies held back |
| greedy drafts there | {places} of the first, second, … guesses were written, if those before them were; \
{hits.tokens_per_round:.3f} tokens per round |
| all guesses of a round | {judgement.step_ms:.2f} ms on that machine |
| licence | {settings.licence_name} |

Made with:

    {settings.command}
"""
