"""Trains a whole drafter on replies, token by token (AdamW, cosine schedule, bf16 where torch has it)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from engine.chat_template import ChatTemplate
from engine.learning.corpus import Lesson
from engine.learning.progress import TrainingProgress
from engine.records import Role

END_OF_TURN = "<|im_end|>"
_LOOP_TOKENS = 12  # a reply that writes the same so many tokens again is in a loop
_LOOP_WEIGHT = 0.1
_WARM_UP = 0.03  # share of the training


@dataclass(frozen=True, slots=True)
class Sample:
    tokens: npt.NDArray[np.int64]  # shape (n,), the conversation in the drafter's tokens
    weights: npt.NDArray[np.float32]  # shape (n,), how much predicting this token counts
    reply_start: int


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    seconds: float  # wall clock
    learning_rate: float
    seed: int = 0
    tokens_per_step: int = 4096
    max_length: int = 512  # tokens of a sample; the rest is left out


def make_samples(
    lessons: Iterable[Lesson], tokenizer: Tokenizer, template: ChatTemplate, default_systems: frozenset[str]
) -> list[Sample]:
    """`default_systems` are system prompts that targets add by themselves and a drafter does not get to see."""
    samples = []
    end = tokenizer.token_to_id(END_OF_TURN)
    assert end is not None
    for lesson in lessons:
        turns = [turn for turn in lesson.turns if turn.role is not Role.SYSTEM or turn.text not in default_systems]
        prompt = tokenizer.encode(template.render(turns)).ids
        reply = tokenizer.encode(lesson.reply, add_special_tokens=False).ids + ([end] if lesson.finished else [])
        weights = np.concatenate([np.zeros(len(prompt)), _weights(reply)]).astype(np.float32)
        samples.append(Sample(np.array(prompt + reply), weights, len(prompt)))
    return samples


def _weights(reply: Sequence[int]) -> list[float]:
    """Tokens that go on with a loop count little: a target that loops is easily guessed, and nothing to learn from."""
    seen: set[tuple[int, ...]] = set()
    weights = []
    for place in range(len(reply)):
        recent = tuple(reply[max(0, place - _LOOP_TOKENS) : place])
        weights.append(_LOOP_WEIGHT if len(recent) == _LOOP_TOKENS and recent in seen else 1.0)
        seen.add(recent)
    return weights


def train(
    model: Any,
    samples: Sequence[Sample],
    held_back: Sequence[Sample],
    settings: TrainingSettings,
    on_progress: Callable[[TrainingProgress], None],
) -> None:
    """Trains for `settings.seconds`, as many steps as fit: the schedule follows the clock."""
    random = np.random.default_rng(settings.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device).train()
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}], betas=(0.9, 0.95)
    )
    began = time.monotonic()
    step = 0
    epoch = 0.0
    while True:
        for batch in _batches(samples, settings, random):
            share = (time.monotonic() - began) / settings.seconds
            if share >= 1:
                on_progress(
                    TrainingProgress(step, epoch, time.monotonic() - began, float("nan"), agreement(model, held_back))
                )
                return
            rate = settings.learning_rate * min(1.0, share / _WARM_UP, 0.02 + 0.98 * 0.5 * (1 + np.cos(np.pi * share)))
            for group in optimizer.param_groups:
                group["lr"] = max(rate, 1e-6)
            tokens, weights = (value.to(device) for value in batch)
            learned = weights[:, 1:] > 0
            with torch.autocast(device, torch.bfloat16):
                states = model.model(input_ids=tokens[:, :-1], use_cache=False).last_hidden_state
                logits = model.lm_head(states[learned])  # shape (learned tokens, vocabulary)
            losses = functional.cross_entropy(logits.float(), tokens[:, 1:][learned], reduction="none")
            loss = (losses * weights[:, 1:][learned]).sum() / weights[:, 1:].sum()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            step += 1
            epoch += len(tokens) / len(samples)
            measured = agreement(model, held_back) if step % 100 == 0 else None
            on_progress(TrainingProgress(step, epoch, time.monotonic() - began, float(loss.detach()), measured))


@torch.no_grad()
def agreement(model: Any, samples: Sequence[Sample]) -> float:
    """Share of the reply tokens that are the likeliest ones to the drafter."""
    model.eval()
    device = next(model.parameters()).device
    hits = count = 0
    for sample in samples:
        tokens = torch.from_numpy(sample.tokens)[None].to(device)
        with torch.autocast(device.type, torch.bfloat16):
            guesses = model(input_ids=tokens[:, :-1], use_cache=False).logits[0].argmax(-1)
        start = sample.reply_start - 1
        hits += int((guesses[start:] == tokens[0, 1:][start:]).sum())
        count += len(guesses) - start
    model.train()
    return hits / max(1, count)


def _batches(
    samples: Sequence[Sample], settings: TrainingSettings, random: np.random.Generator
) -> Iterable[tuple[torch.Tensor, torch.Tensor]]:
    """Batches of samples of like length, in random order."""
    lengths = np.array([min(len(sample.tokens), settings.max_length) for sample in samples])
    order = np.argsort(lengths + random.uniform(0, 32, len(samples)))
    groups: list[list[int]] = [[]]
    for place in order:
        if (len(groups[-1]) + 1) * lengths[place] > settings.tokens_per_step and groups[-1]:
            groups.append([])
        groups[-1].append(int(place))
    for index in random.permutation(len(groups)):
        group = groups[index]
        length = max(lengths[place] for place in group)
        tokens = np.zeros((len(group), length), np.int64)
        weights = np.zeros((len(group), length), np.float32)
        for row, place in enumerate(group):
            sample = samples[place]
            size = lengths[place]
            tokens[row, :size] = sample.tokens[:size]
            weights[row, :size] = sample.weights[:size]
        yield torch.from_numpy(tokens), torch.from_numpy(weights)
