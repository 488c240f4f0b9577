"""Lets a target write its own corpus: conversations side by side, in shards that a later run resumes from."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from engine.lab.distillation.conversation import Inventor, ReadingStep
from engine.lab.distillation.progress import InventProgress
from engine.lab.distillation.shards import LabelledConversation, ShardOrigin, Shards
from engine.speculation.model.chat.chat_template import ChatTemplate
from engine.speculation.model.interface import FloatRow, ParallelTarget

_SHARD_SIZE = 64  # conversations, which a sudden end can cost
_PROGRESS_S = 0.5  # between two reports


def invent(
    target: ParallelTarget,
    template: ChatTemplate,
    folder: Path,
    num_conversations: int,
    seed: int,
    on_progress: Callable[[InventProgress], None],
) -> None:
    """Writes the conversations 0 … num_conversations - 1 into `folder`, except those that are there already.

    Each depends on its number, the seed and the target only; llama.cpp may round differently next to other sequences,
    so that a resumed run can differ where two tokens are almost tied. An exception or a kill costs the unfinished
    conversations and at most a shard, Ctrl+C only the unfinished ones. Only one run at a time may write into a folder.

    Raises FileUnusable when the folder holds another corpus or cannot be written, TemplateFailed, PromptTooLong,
    TargetUnusable and what the target raises.
    """
    shards = Shards(folder, ShardOrigin(target.description.name, target.vocabulary.fingerprint, seed))
    missing = [number for number in range(num_conversations) if number not in shards.numbers]
    progress = _Progress(num_conversations, num_conversations - len(missing), on_progress)
    inventor = Inventor(target, template, seed)
    finished: list[LabelledConversation] = []
    try:
        for conversation in _write_side_by_side(target, inventor, missing, progress):
            finished.append(conversation)
            if len(finished) == _SHARD_SIZE:
                shard, finished = finished, []  # before it is written: Ctrl+C afterwards must not write it again
                shards.add(shard)
    except KeyboardInterrupt:
        shards.add(finished)
        raise
    shards.add(finished)
    progress.report()


def _write_side_by_side(
    target: ParallelTarget, inventor: Inventor, numbers: list[int], progress: _Progress
) -> Iterator[LabelledConversation]:
    """Yields conversations as they end. When one ends, the next takes its slot."""
    waiting = iter(numbers)
    running: dict[int, Generator[ReadingStep, FloatRow, LabelledConversation]] = {}  # by slot
    steps: dict[int, ReadingStep] = {}

    def begin(slot: int) -> None:
        for number in waiting:
            running[slot] = inventor.converse(number)
            steps[slot] = next(running[slot])
            return

    for slot in range(target.num_slots):
        target.drop(slot)
        begin(slot)
    while steps:
        for slot, step in steps.items():
            if step.begins:
                target.drop(slot)
        rows = target.evaluate({slot: step.tokens for slot, step in steps.items()})
        ended: list[LabelledConversation] = []
        for slot, row in rows.items():
            try:
                steps[slot] = running[slot].send(row)
            except StopIteration as end:
                ended.append(end.value)
                del steps[slot]
                begin(slot)
        progress.note(len(rows), len(ended))
        yield from ended


class _Progress:
    def __init__(self, num_conversations: int, num_done: int, on_progress: Callable[[InventProgress], None]) -> None:
        self._num_conversations = num_conversations
        self._num_done = num_done
        self._on_progress = on_progress
        self._num_tokens = 0
        self._start = self._reported = time.monotonic()

    def note(self, num_tokens: int, num_done: int) -> None:
        """Notes one pass: every row became a token."""
        self._num_tokens += num_tokens
        self._num_done += num_done
        if time.monotonic() - self._reported >= _PROGRESS_S:
            self.report()

    def report(self) -> None:
        self._reported = time.monotonic()
        seconds = self._reported - self._start
        self._on_progress(InventProgress(self._num_done, self._num_conversations, self._num_tokens, seconds))
