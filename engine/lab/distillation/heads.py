"""The making of heads for a target: conversations, the target's states in them, training, a folder."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from engine.lab.distillation.corpus import corpus_files, read_lessons
from engine.lab.distillation.folder import write_folder
from engine.lab.distillation.progress import DistillProgress, Judgement, TextFigures, TrainingProgress
from engine.lab.distillation.recipe import LabelledLessons, begin, split
from engine.lab.distillation.target_side import TargetSide
from engine.lab.distillation.teacher import Teacher
from engine.lab.distillation.thoughts import ReplyStates, ThoughtShards
from engine.lab.distillation.training import (
    DistillationSettings,
    Stopwatch,
    TrainingState,
    load_checkpoint,
    rate_at,
    save_checkpoint,
)
from engine.lab.distillation.work import WorkFolder
from engine.speculation.drafter.heads import HeadWeights, TargetMatrices, TorchHeads, save_heads
from engine.speculation.drafter.heads_folder import WEIGHTS, HeadsConfig
from engine.speculation.drafter.matrices import Int8Rows
from engine.speculation.learning.samples import CorpusLesson
from engine.speculation.proposers.heads import measure_guess
from engine.values.distilling import DistillSettings
from engine.values.errors import DrafterUnusable, FileUnusable, TargetUnsupported
from engine.values.targets import TargetSource

_GIGABYTE = 1e9
_TEXT = "replies of this target, held back"

_ROWS = 1024  # of a step
_FADING = 0.8  # weight of a head in the loss, from one to the next: later ones are seldom reached
_MEASURE_EVERY = 50  # steps
_NUM_MEASURED = 4096  # rows held back, then


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


class HeadsModel(torch.nn.Module):
    """Heads in training: at first each says what the target says next."""

    def __init__(self, num_heads: int, hidden: int, scale: float) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.hidden = hidden
        self.scale = scale
        self.weight = torch.nn.Parameter(torch.zeros(num_heads * hidden, 2 * hidden))
        self.bias = torch.nn.Parameter(torch.zeros(num_heads * hidden))

    def forward(self, states: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
        """[rows, hidden] twice, states and embeddings of what was drawn from them, to [rows, heads, hidden]."""
        added = functional.silu(functional.linear(torch.cat((states / self.scale, known), 1), self.weight, self.bias))
        return states[:, None] + self.scale * added.view(-1, self.num_heads, self.hidden)

    def weights(self, outputs: torch.Tensor) -> HeadWeights:
        """The weights as they run; `outputs` are the tokens that they can guess."""
        return HeadWeights(Int8Rows.of(self.weight.detach()), self.bias.detach(), outputs.to(torch.int32), self.scale)


@dataclass(frozen=True, slots=True, eq=False)
class HeadVocabulary:
    """The part of the target's vocabulary that matters."""

    outputs: torch.Tensor  # int64 [outputs]: the tokens that can be guessed
    matrix: torch.Tensor  # bfloat16 [outputs, hidden]: their rows of the output matrix
    places: torch.Tensor  # int64 [vocabulary]: of each token among them; -1: it cannot be guessed
    embeddings: torch.Tensor  # bfloat16 [known, hidden]
    known: torch.Tensor  # int64 [vocabulary]: the row of each token there


@dataclass(frozen=True, slots=True)
class HeadHits:
    """The success of greedy drafts of heads, along replies that they did not learn from."""

    agreement: float  # share of the first guesses that are what the target thinks likeliest there
    by_place: tuple[float, ...]  # share of the first, second, … guesses that were written, if those before them were
    tokens_per_round: float


def train_heads(
    model: HeadsModel,
    words: HeadVocabulary,
    thoughts: ThoughtShards,
    held_back: ReplyStates,
    settings: DistillationSettings,
    checkpoint: Path,
    on_progress: Callable[[TrainingProgress], None],
    judge: Callable[[float], object] = lambda _seconds: None,
) -> TrainingState:
    """Trains like `engine.lab.distillation.training.train`; what is saved goes on with the next shard."""
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.01)
    state = load_checkpoint(checkpoint, model, optimizer) if checkpoint.exists() else TrainingState()
    watch = Stopwatch(state.seconds)
    judged, some = state.seconds, held_back.first(_NUM_MEASURED)
    while True:
        random = np.random.default_rng((settings.seed, state.epoch))
        for number in random.permutation(len(thoughts))[state.batch :].tolist():
            shard = thoughts.read(number)
            for rows in torch.split(torch.from_numpy(random.permutation(len(shard))), _ROWS):
                state = replace(state, seconds=watch.seconds, step=state.step + 1)
                if settings.share(state) >= 1:
                    save_checkpoint(checkpoint, model, optimizer, state)
                    return state
                for group in optimizer.param_groups:
                    group["lr"] = settings.learning_rate * rate_at(settings.share(state))
                loss = _loss(model, words, shard, rows)
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                hits = None
                if state.step % _MEASURE_EVERY == 0:
                    with watch.paused():
                        hits = count_hits(model, words, some)
                figures = (None, None) if hits is None else (hits.agreement, hits.tokens_per_round - 1)
                epoch = state.epoch + state.batch / len(thoughts)
                on_progress(TrainingProgress(state.step, epoch, state.seconds, float(loss.detach()), *figures))
            state = replace(state, batch=state.batch + 1)
            save_checkpoint(checkpoint, model, optimizer, state)
            if state.seconds - judged >= settings.judge_every_s:
                judged = state.seconds
                with watch.paused():
                    judge(state.seconds)
        state = replace(state, epoch=state.epoch + 1, batch=0)


@torch.no_grad()
def count_hits(model: HeadsModel, words: HeadVocabulary, thoughts: ReplyStates) -> HeadHits:
    guesses = torch.cat(
        [
            words.outputs[functional.linear(_states(model, words, thoughts, rows), words.matrix).argmax(-1)]
            for rows in torch.split(torch.arange(len(thoughts)), _ROWS)
        ]
    )  # [rows, heads]
    places = torch.arange(len(thoughts))[:, None] + 1 + torch.arange(model.num_heads)
    is_there = places < thoughts.ends[:, None]
    places.clamp_max_(len(thoughts) - 1)
    hits = ((guesses == thoughts.written[places]) & is_there).numpy()
    agree = (guesses[:, 0] == thoughts.tokens[places[:, 0], 0])[is_there[:, 0]]
    checked, accepted, num_rounds = _count_rounds(hits, thoughts.ends.tolist())
    return HeadHits(
        float(agree.to(torch.float32).mean()),
        tuple((accepted / np.maximum(1, checked)).tolist()),
        1 + float(accepted.sum()) / max(1, num_rounds),
    )


def _count_rounds(
    hits: npt.NDArray[np.bool_], ends: list[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """The guesses of each head that were checked and accepted, and the rounds that this took."""
    num_heads = hits.shape[1]
    checked, accepted = np.zeros(num_heads, np.int64), np.zeros(num_heads, np.int64)
    row = num_rounds = 0
    while row < len(hits):
        right = num_heads if hits[row].all() else int(hits[row].argmin())
        accepted[:right] += 1
        checked[: min(right + 1, num_heads)] += 1
        num_rounds += 1
        row = min(row + right + 1, ends[row])
    return checked, accepted, num_rounds


def _states(model: HeadsModel, words: HeadVocabulary, thoughts: ReplyStates, rows: torch.Tensor) -> torch.Tensor:
    """The states of the heads, bfloat16 [rows, heads, hidden]."""
    with torch.autocast("cpu", torch.bfloat16):
        known = words.embeddings[words.known[thoughts.written[rows]]]
        found: torch.Tensor = model(thoughts.states[rows].to(torch.float32), known)
    return found.to(torch.bfloat16)


def _loss(model: HeadsModel, words: HeadVocabulary, thoughts: ReplyStates, rows: torch.Tensor) -> torch.Tensor:
    states = _states(model, words, thoughts, rows)
    total = torch.zeros(())
    for head in range(model.num_heads):
        places = rows + 1 + head
        is_there = places < thoughts.ends[rows]
        places = places[is_there]
        logits = functional.linear(states[is_there, head], words.matrix).to(torch.float32)
        tokens = words.places[thoughts.tokens[places].to(torch.int64)]
        wanted = thoughts.log_probabilities[places].to(torch.float32).exp() * (tokens >= 0)
        each = wanted.sum(-1) * logits.logsumexp(-1) - (wanted * logits.gather(1, tokens.clamp_min(0))).sum(-1)
        weights = thoughts.weights[places]
        total = total + _FADING**head * (each * weights).sum() / weights.sum().clamp_min(1.0)
    return total
