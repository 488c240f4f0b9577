"""Reads given replies with the target again, for its distribution before every token of them.

llama.cpp reads a small quantized target at a few hundred tokens per second on a CPU; bfloat16 products of torch read
the same weights four times as fast (and transformers' own modules only twice). So Llama-type targets are read here, and
others through llama.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import numpy as np
import psutil
import torch
from torch.nn import functional
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from engine.lab.distillation.corpus import NUM_LIKELIEST, write_labels
from engine.lab.distillation.cut import GgufSource
from engine.lab.distillation.progress import LabelProgress
from engine.lab.distillation.work import writing_to
from engine.speculation.learning.samples import CorpusLesson, Labels
from engine.speculation.model.interface import Target, telling
from engine.speculation.numerics.likeliest import likeliest
from engine.values.stop_signal import StopSignal

_SHARD_SIZE = 512  # lessons, whose labels are one file
_TOKENS_PER_PASS = 1536
_HEAD_ROWS = 1024  # whose logits are in memory at once


Thought = tuple[CorpusLesson, Labels, torch.Tensor]  # the states that the labels are made of: bfloat16 [n, hidden]


class Teacher(Protocol):
    def label(self, lessons: Sequence[CorpusLesson]) -> Iterator[tuple[CorpusLesson, Labels]]:
        """The labels of each lesson, in any order."""

    def think(self, lessons: Sequence[CorpusLesson]) -> Iterator[Thought]:
        """Labels and states of each lesson, in any order."""


OpenTeacher = Callable[[], AbstractContextManager[Teacher]]

_UNKNOWN = np.full(NUM_LIKELIEST, -np.inf, np.float16)
_JOINED = (  # the weights of a layer, some of them as one matrix
    ("input_layernorm",),
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    ("self_attn.o_proj",),
    ("post_attention_layernorm",),
    ("mlp.gate_proj", "mlp.up_proj"),
    ("mlp.down_proj",),
)


def label_lessons(
    lessons: Sequence[CorpusLesson],
    open_teacher: OpenTeacher,
    folder: Path,
    on_progress: Callable[[LabelProgress], None],
) -> list[Path]:
    """Writes the labels of all lessons into `folder`, except those that are there already. Returns the files.

    Raises FileUnusable, and what the teacher raises.
    """
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
    parts = {
        folder / f"{start // _SHARD_SIZE:05}.safetensors": lessons[start : start + _SHARD_SIZE]
        for start in range(0, len(lessons), _SHARD_SIZE)
    }
    missing = [path for path in parts if not path.exists()]
    if missing:
        num_done = len(lessons) - sum(len(parts[path]) for path in missing)
        with open_teacher() as teacher:
            for path in missing:
                lines, labels = [], []
                for lesson, found in teacher.label(parts[path]):
                    lines.append(lesson.line)
                    labels.append(found)
                    num_done += 1
                    on_progress(LabelProgress(num_done, len(lessons)))
                write_labels(path, lines, labels)
    return list(parts)


def free_memory() -> int:
    """The free bytes on the device of `TorchTeacher`."""
    if torch.cuda.is_available():
        return int(torch.cuda.mem_get_info()[0])
    return int(psutil.virtual_memory().available)


class TargetTeacher:
    """Reads with any target, through llama.cpp."""

    def __init__(self, target: Target, stop: StopSignal) -> None:
        self._target = target
        self._stop = stop

    def label(self, lessons: Sequence[CorpusLesson]) -> Iterator[tuple[CorpusLesson, Labels]]:
        """See `Teacher.label`. Raises Interrupted."""
        return ((lesson, labels) for lesson, labels, _ in self._read(lessons, with_states=False))

    def think(self, lessons: Sequence[CorpusLesson]) -> Iterator[Thought]:
        """See `Teacher.think`. Raises Interrupted."""
        return self._read(lessons, with_states=True)

    def _read(self, lessons: Sequence[CorpusLesson], with_states: bool) -> Iterator[Thought]:
        limits = self._target.limits
        chunk = min(limits.max_rows, limits.max_tokens)
        if with_states:
            telling(self._target).tell_states(True)
        for lesson in lessons:
            self._target.roll_back(0)
            ids = lesson.ids[: limits.context_size].tolist()
            rows: list[tuple[np.ndarray, np.ndarray]] = []
            states = torch.zeros((len(lesson.reply), 0), dtype=torch.bfloat16)
            before = min(lesson.start - 1, len(ids))
            for start in range(0, before, limits.max_tokens):
                self._target.evaluate(ids[start : min(before, start + limits.max_tokens)], 1, self._stop)
            for start in range(before, len(ids) - 1, chunk):
                part = ids[start : min(len(ids) - 1, start + chunk)]
                logits = self._target.evaluate(part, len(part), self._stop)
                found = telling(self._target).states if with_states else None
                if found is not None:
                    if not states.shape[1]:
                        states = states.new_zeros((len(lesson.reply), found.shape[1]))
                    states[len(rows) : len(rows) + len(part)] = torch.tensor(found)
                rows += [likeliest(row, NUM_LIKELIEST) for row in logits]
            # Tokens beyond the target's context have labels without a meaning.
            rows += [(np.zeros(NUM_LIKELIEST, np.int32), _UNKNOWN)] * (len(lesson.reply) - len(rows))
            tokens, logs = zip(*rows, strict=True)
            yield lesson, Labels(np.stack(tokens), np.stack(logs)), states


class TorchTeacher:
    """Reads with a Llama-type model in bfloat16, many lessons in a pass."""

    def __init__(self, source: GgufSource) -> None:
        config = source.config
        self._heads = config.num_attention_heads
        self._kv_heads = config.num_key_value_heads or self._heads
        self._dim = config.head_dim or config.hidden_size // self._heads
        self._inner, self._epsilon = config.intermediate_size, config.rms_norm_eps
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._rotary = LlamaRotaryEmbedding(config).to(self._device)
        with torch.no_grad():
            self._embedding, self._norm = self._weight(source.embedding), self._weight(source.norm)
            self._head = self._embedding if source.is_tied else self._weight(source.head)
            layers = (source.layer(index) for index in range(config.num_hidden_layers))
            self._layers = [
                [self._weight(*(layer[f"{name}.weight"] for name in names)) for names in _JOINED] for layer in layers
            ]

    def label(self, lessons: Sequence[CorpusLesson]) -> Iterator[tuple[CorpusLesson, Labels]]:
        """See `Teacher.label`."""
        return ((lesson, labels) for lesson, labels, _ in self.think(lessons))

    def think(self, lessons: Sequence[CorpusLesson]) -> Iterator[Thought]:
        """See `Teacher.think`."""
        for batch in _batches(lessons):
            length = max(len(lesson.ids) for lesson in batch)
            ids = torch.zeros((len(batch), length), dtype=torch.int64)
            for row, lesson in enumerate(batch):
                ids[row, : len(lesson.ids)] = torch.from_numpy(lesson.ids)
            with torch.inference_mode():
                states = self._states(ids.to(self._device))
                parts = [states[row, lesson.start - 1 : len(lesson.ids) - 1] for row, lesson in enumerate(batch)]
                labels = [self._labels(part) for part in parts]
            yield from zip(batch, labels, (part.to("cpu", copy=True) for part in parts), strict=True)

    def _labels(self, states: torch.Tensor) -> Labels:
        tokens, logs = [], []
        for rows in torch.split(states, _HEAD_ROWS):
            logits = functional.linear(rows, self._head)
            values, ids = logits.topk(NUM_LIKELIEST)
            tokens.append(ids.to("cpu", torch.int32))
            logs.append((values.float() - logits.float().logsumexp(-1, keepdim=True)).to("cpu", torch.float16))
        return Labels(torch.cat(tokens).numpy(), torch.cat(logs).numpy())

    def _states(self, ids: torch.Tensor) -> torch.Tensor:
        """[samples, length, hidden]. Shorter samples are padded at their end, which no token attends to."""
        samples, length = ids.shape
        states = self._embedding[ids.reshape(-1)]
        hidden = states.shape[1]
        cosine, sine = self._rotary(states, torch.arange(length, device=ids.device)[None])
        cosine, sine = cosine[0, :, None].to(states.dtype), sine[0, :, None].to(states.dtype)
        half = self._dim // 2
        sine = torch.cat((-sine[..., :half], sine[..., half:]), -1)
        rotated = self._heads + self._kv_heads
        group = self._heads // self._kv_heads
        for attention_norm, qkv, out, mlp_norm, gate_up, down in self._layers:
            heads = functional.linear(self._normed(states, attention_norm), qkv).view(samples, length, -1, self._dim)
            keys = heads[:, :, :rotated]
            keys = keys * cosine + keys.roll(half, -1) * sine
            mixed = functional.scaled_dot_product_attention(
                keys[:, :, : self._heads].transpose(1, 2),
                keys[:, :, self._heads :].transpose(1, 2).repeat_interleave(group, 1),
                heads[:, :, rotated:].transpose(1, 2).repeat_interleave(group, 1),
                is_causal=True,
            )
            states = states + functional.linear(mixed.transpose(1, 2).reshape(samples * length, -1), out)
            gates = functional.linear(self._normed(states, mlp_norm), gate_up)
            gated = functional.silu(gates[:, : self._inner]) * gates[:, self._inner :]
            states = states + functional.linear(gated, down)
        return functional.rms_norm(states, (hidden,), self._norm, self._epsilon).view(samples, length, hidden)

    def _normed(self, states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(states, weight.shape, weight, self._epsilon)

    def _weight(self, *parts: torch.Tensor) -> torch.Tensor:
        return torch.cat([part.detach().to(self._device, torch.bfloat16) for part in parts])


def _batches(lessons: Sequence[CorpusLesson]) -> Iterator[list[CorpusLesson]]:
    """Lessons of similar length together."""
    batch: list[CorpusLesson] = []
    for lesson in sorted(lessons, key=lambda lesson: len(lesson.ids)):
        if batch and (len(batch) + 1) * len(lesson.ids) > _TOKENS_PER_PASS:
            yield batch
            batch = []
        batch.append(lesson)
    if batch:
        yield batch
