"""The target's states and distributions at every token of some conversations.

States take a thousand bytes and more a token, so they are kept on disk as bfloat16 up to a budget; the conversations
beyond it are read again by the target whenever their turn comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from engine.lab.distillation.corpus import NUM_LIKELIEST
from engine.lab.distillation.progress import LabelProgress
from engine.lab.distillation.teacher import Teacher
from engine.lab.distillation.work import write_whole, writing_to
from engine.speculation.learning.samples import CorpusLesson, loop_weights
from engine.values.errors import FileUnusable

_SHARD_SIZE = 128  # lessons, whose states are one file
_BYTES_OF_LABEL = 6 * NUM_LIKELIEST


@dataclass(frozen=True, slots=True, eq=False)
class ReplyStates:
    """The states of replies, row by row along the replies of some lessons."""

    states: torch.Tensor  # bfloat16 [rows, hidden], of what the written token was drawn from
    written: torch.Tensor  # int64 [rows]
    ends: torch.Tensor  # int64 [rows]: the row after the last one of this reply
    weights: torch.Tensor  # float32 [rows]: less where the reply repeats itself
    tokens: torch.Tensor  # int32 [rows, k], the likeliest in place of the written one
    log_probabilities: torch.Tensor  # float16 [rows, k]

    def __len__(self) -> int:
        return len(self.written)

    def first(self, num_rows: int) -> ReplyStates:
        """The states of the first replies, up to `num_rows` rows."""
        end = int(self.ends[min(num_rows, len(self)) - 1])
        parts = self.states, self.written, self.ends, self.weights, self.tokens, self.log_probabilities
        return ReplyStates(*(part[:end] for part in parts))

    @classmethod
    def joined(cls, parts: Sequence[ReplyStates]) -> ReplyStates:
        starts = np.cumsum([0, *map(len, parts)]).tolist()
        return cls(
            torch.cat([part.states for part in parts]),
            torch.cat([part.written for part in parts]),
            torch.cat([part.ends + start for part, start in zip(parts, starts, strict=False)]),
            torch.cat([part.weights for part in parts]),
            torch.cat([part.tokens for part in parts]),
            torch.cat([part.log_probabilities for part in parts]),
        )


class ThoughtShards:
    """The states of many lessons, a shard at a time."""

    def __init__(
        self,
        lessons: Sequence[CorpusLesson],
        folder: Path,
        hidden: int,
        budget_bytes: float,
        teacher: Callable[[], Teacher],
    ) -> None:
        """`teacher` gives the one that reads, and is called when there is something to read."""
        starts = range(0, len(lessons), _SHARD_SIZE)
        self._shards = [lessons[start : start + _SHARD_SIZE] for start in starts]
        self._folder = folder
        self._teacher = teacher
        row_bytes = 2 * hidden + _BYTES_OF_LABEL
        sizes = np.cumsum([row_bytes * sum(len(lesson.reply) for lesson in shard) for shard in self._shards])
        self._num_kept = int((sizes <= budget_bytes).sum())

    def __len__(self) -> int:
        return len(self._shards)

    def prepare(self, on_progress: Callable[[LabelProgress], None]) -> None:
        """Reads what must be kept and is not there yet. Raises FileUnusable, and what the teacher raises."""
        with writing_to(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        kept = self._shards[: self._num_kept]
        num_done, num_lessons = 0, sum(map(len, kept))
        for number, shard in enumerate(kept):
            if not self._path(number).exists():
                self._write(number, shard)
            num_done += len(shard)
            on_progress(LabelProgress(num_done, num_lessons))

    def read(self, number: int) -> ReplyStates:
        """Raises FileUnusable, and what the teacher raises."""
        shard, path = self._shards[number], self._path(number)
        if number >= self._num_kept:
            return _joined(shard, *self._think(shard))
        try:
            found = load_file(path)
            order = found["places"].tolist()
            joined = _joined([shard[place] for place in order], found["states"], found["tokens"], found["logs"])
        except (OSError, ValueError, KeyError, IndexError, SafetensorError) as error:
            raise FileUnusable(f"{path} is damaged; remove it, and it is written again.") from error
        return joined

    def _write(self, number: int, shard: Sequence[CorpusLesson]) -> None:
        states, tokens, logs = self._think(shard)
        tensors = {"places": torch.arange(len(shard)), "states": states, "tokens": tokens, "logs": logs}
        write_whole(self._path(number), save(tensors))

    def _think(self, shard: Sequence[CorpusLesson]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """States, likeliest tokens and their log probabilities, in the order of the shard."""
        found = {id(lesson): (states, labels) for lesson, labels, states in self._teacher().think(shard)}
        parts = [found[id(lesson)] for lesson in shard]
        tokens = torch.from_numpy(np.concatenate([labels.tokens for _, labels in parts]))
        logs = torch.from_numpy(np.concatenate([labels.log_probabilities for _, labels in parts]))
        return torch.cat([states for states, _ in parts]), tokens, logs

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:05}.safetensors"


def _joined(
    lessons: Sequence[CorpusLesson], states: torch.Tensor, tokens: torch.Tensor, logs: torch.Tensor
) -> ReplyStates:
    """The states of these lessons. Raises ValueError if they are of other lessons."""
    replies = [lesson.reply.astype(np.int64) for lesson in lessons]
    lengths = np.array([len(reply) for reply in replies])
    if not lengths.sum() == len(states) == len(tokens) == len(logs):
        raise ValueError("the thoughts are of other conversations")
    weights = np.concatenate([np.array(loop_weights(reply.tolist()), np.float32) for reply in replies])
    return ReplyStates(
        states,
        torch.from_numpy(np.concatenate(replies)),
        torch.from_numpy(np.repeat(lengths.cumsum(), lengths)),
        torch.from_numpy(weights),
        tokens,
        logs,
    )
