"""Trains a whole drafter on replies: towards the target's own distribution if it is known, and the tokens it wrote.

AdamW, cosine schedule over the given time, bf16 products if torch has them. A checkpoint is written every few minutes,
so that a training that was killed resumes there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from engine.lab.distillation.progress import TrainingProgress
from engine.lab.distillation.work import write_whole
from engine.speculation.learning.evaluation import Hits, count_hits
from engine.speculation.learning.losses import losses, wanted
from engine.speculation.learning.samples import LabelTable, Sample
from engine.values.errors import FileUnusable

_OPTIMIZER = ("step", "exp_avg", "exp_avg_sq")


@dataclass(frozen=True, slots=True)
class TrainingState:
    step: int = 0
    epoch: int = 0  # complete ones
    batch: int = 0  # of this epoch, the next one
    seconds: float = 0.0  # of training so far


def save_checkpoint(path: Path, model: Any, optimizer: torch.optim.Optimizer, state: TrainingState) -> None:
    """Raises FileUnusable."""
    tensors: dict[str, torch.Tensor] = {}
    for name, weight in model.named_parameters():
        tensors[name] = weight.detach()
        for part, value in optimizer.state.get(weight, {}).items():
            tensors[f"{part}:{name}"] = value
    write_whole(path, save(tensors, metadata={"state": json.dumps(asdict(state))}))


def load_checkpoint(path: Path, model: Any, optimizer: torch.optim.Optimizer) -> TrainingState:
    """Raises FileUnusable when the file is damaged, or of a drafter of another shape."""
    try:
        with safe_open(path, "pt") as file, torch.no_grad():
            state = TrainingState(**json.loads(file.metadata()["state"]))
            names = set(file.keys())
            for name, weight in model.named_parameters():
                found = file.get_tensor(name)
                if found.shape != weight.shape:
                    raise ValueError(f"{name} has another shape")
                weight.copy_(found)
                if f"{_OPTIMIZER[0]}:{name}" in names:
                    optimizer.state[weight] = {
                        part: file.get_tensor(f"{part}:{name}").to(weight.device) for part in _OPTIMIZER
                    }
            return state
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise FileUnusable(
            f"The training in {path} cannot be gone on with ({error}); remove the file to start it again."
        ) from error


_WARM_UP = 0.02  # share of the training
_FINAL_RATE = 0.02  # of the highest learning rate
_MEASURE_EVERY = 100  # steps
_NUM_MEASURED = 48  # replies held back


@dataclass(frozen=True, slots=True)
class DistillationSettings:
    seconds: float  # of training, including those before a kill
    learning_rate: float
    seed: int = 0
    tokens_per_step: int = 4096
    token_share: float = 0.2  # of the loss, if the target's distribution is known: the token it wrote
    save_every_s: float = 300.0
    judge_every_s: float = 900.0
    steps: int | None = None  # instead of the seconds

    def share(self, state: TrainingState) -> float:
        return state.seconds / self.seconds if self.steps is None else state.step / self.steps


@dataclass(frozen=True, slots=True)
class Lessons:
    samples: Sequence[Sample]
    labels: LabelTable
    held_back: Sequence[Sample]


def train(
    model: Any,
    num_outputs: int,
    lessons: Lessons,
    settings: DistillationSettings,
    checkpoint: Path | None,
    on_progress: Callable[[TrainingProgress], None],
    judge: Callable[[float], object] = lambda _seconds: None,
) -> TrainingState:
    """Trains for `settings.seconds`, as many steps as fit. Resumes from `checkpoint` if there is one, and saves to it.
    `judge` is called from time to time, with the seconds of training so far; its own time is not counted.

    Raises FileUnusable when the checkpoint is of another training or cannot be written. Ctrl+C saves it first.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device).train()
    optimizer = _optimizer(model)
    state = TrainingState()
    if checkpoint is not None and checkpoint.exists():
        state = load_checkpoint(checkpoint, model, optimizer)
    watch = Stopwatch(state.seconds)
    saved = judged = state.seconds
    try:
        while True:
            for batch in _batches(lessons.samples, settings, state):
                state = replace(state, seconds=watch.seconds)
                share = settings.share(state)
                is_due = state.seconds - judged >= settings.judge_every_s
                if checkpoint and (share >= 1 or is_due or state.seconds - saved >= settings.save_every_s):
                    save_checkpoint(checkpoint, model, optimizer, state)
                    saved = state.seconds
                if share >= 1:
                    return state
                if is_due:
                    judged = state.seconds
                    with watch.paused():
                        judge(state.seconds)
                for group in optimizer.param_groups:
                    group["lr"] = settings.learning_rate * rate_at(share)
                loss = _loss(model, num_outputs, batch, lessons.labels, settings.token_share)
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                state = replace(state, step=state.step + 1, batch=state.batch + 1)
                is_measured = state.step % _MEASURE_EVERY == 0
                hits = count_hits(model, num_outputs, lessons.held_back[:_NUM_MEASURED]) if is_measured else None
                on_progress(_progress(state, batch.num_batches, float(loss.detach()), hits))
            state = replace(state, epoch=state.epoch + 1, batch=0)
    except KeyboardInterrupt:
        if checkpoint:
            save_checkpoint(checkpoint, model, optimizer, state)
        raise


def _progress(state: TrainingState, num_batches: int, loss: float, hits: Hits | None) -> TrainingProgress:
    figures = (None, None) if hits is None else (hits.agreement, hits.accepted_per_round)
    return TrainingProgress(state.step, state.epoch + state.batch / num_batches, state.seconds, loss, *figures)


class Stopwatch:
    """Seconds of training, including those before a kill."""

    def __init__(self, seconds: float) -> None:
        self._began = time.monotonic() - seconds

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @contextmanager
    def paused(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self._began += time.monotonic() - began


def rate_at(share: float) -> float:
    """The share of the highest learning rate, when `share` of the training is over."""
    cosine = 0.5 * (1 + float(np.cos(np.pi * min(1.0, share))))
    return min(1.0, max(share, 1e-3) / _WARM_UP) * (_FINAL_RATE + (1 - _FINAL_RATE) * cosine)


def _optimizer(model: Any) -> torch.optim.Optimizer:
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim <= 1]
    return torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}],
        betas=(0.9, 0.95),
        fused=True,
    )


@dataclass(frozen=True, slots=True)
class _Batch:
    """Samples that are padded to one length: the fields of `Sample`, but [samples, length]."""

    tokens: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]
    rows: npt.NDArray[np.int32]
    num_batches: int  # of the epoch


def _loss(model: Any, num_outputs: int, batch: _Batch, labels: LabelTable, token_share: float) -> torch.Tensor:
    device = next(model.parameters()).device.type
    want = wanted(batch.tokens, batch.weights, batch.rows, labels, num_outputs).to(device)
    with torch.autocast(device, torch.bfloat16):
        tokens = torch.from_numpy(batch.tokens[:, :-1]).to(device)
        states = model.model(input_ids=tokens, use_cache=False).last_hidden_state.flatten(0, 1)
        logits = torch.nn.functional.linear(states[want.places], model.lm_head.weight[:num_outputs])
    each = losses(logits.float(), want, token_share)
    return (each * want.weights).sum() / want.weights.sum()


def _batches(samples: Sequence[Sample], settings: DistillationSettings, state: TrainingState) -> Iterator[_Batch]:
    """The rest of an epoch: batches of samples of similar length, in an order that seed and epoch determine."""
    random = np.random.default_rng((settings.seed, state.epoch))
    lengths = np.array([len(sample.tokens) for sample in samples])
    order = np.argsort(lengths + random.uniform(0, 32, len(samples)))
    groups: list[list[Sample]] = [[]]
    for place in order:
        if (len(groups[-1]) + 1) * lengths[place] > settings.tokens_per_step and groups[-1]:
            groups.append([])
        groups[-1].append(samples[place])
    for index in random.permutation(len(groups))[state.batch :]:
        group = groups[index]
        shape = (len(group), max(len(sample.tokens) for sample in group))
        batch = _Batch(
            np.zeros(shape, np.int64), np.zeros(shape, np.float32), np.full(shape, -1, np.int32), len(groups)
        )
        for row, sample in enumerate(group):
            size = len(sample.tokens)
            batch.tokens[row, :size] = sample.tokens
            batch.weights[row, :size] = sample.weights
            batch.rows[row, :size] = sample.rows
        yield batch
