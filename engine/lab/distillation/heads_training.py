"""Trains heads (see `drafter.heads`) on a target's states, and counts what they guess.

Each head learns the distribution that the target had at the place that it guesses, as far as its likeliest tokens go.
The target and its output matrix stay as they are, so a step costs little more than the product with that matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from engine.lab.distillation.progress import TrainingProgress
from engine.lab.distillation.thoughts import ReplyStates, ThoughtShards
from engine.lab.distillation.training import (
    DistillationSettings,
    Stopwatch,
    TrainingState,
    load_checkpoint,
    rate_at,
    save_checkpoint,
)
from engine.speculation.drafter.heads import HeadWeights
from engine.speculation.drafter.matrices import Int8Rows

_ROWS = 1024  # of a step
_FADING = 0.8  # weight of a head in the loss, from one to the next: later ones are seldom reached
_MEASURE_EVERY = 50  # steps
_NUM_MEASURED = 4096  # rows held back, then


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
