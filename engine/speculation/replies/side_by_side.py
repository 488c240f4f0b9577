"""Writes replies to several prompts at once, with a target that continues several sequences in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from engine.speculation.model.interface import FloatRow, Interrupted, ParallelTarget
from engine.speculation.numerics.likeliest import NUM_NOTED, DistributionNotes, RowScan
from engine.speculation.numerics.repetition import LOOK_EVERY, repeats
from engine.speculation.numerics.sampling import Dice, RandomDice, distribution_of
from engine.values.config import SamplingSettings
from engine.values.learned import VerifiedReply
from engine.values.stop_signal import StopSignal

_Key = TypeVar("_Key")
_FEWEST_TOKENS = 16  # of a reply that was cut off; a shorter one is not worth its prompt


@dataclass(frozen=True, slots=True)
class Task(Generic[_Key]):
    key: _Key  # of the caller
    prompt: tuple[int, ...]
    sampling: SamplingSettings
    max_tokens: int  # of each reply


def write_side_by_side(
    target: ParallelTarget,
    tasks: Iterable[Task[_Key]],
    times: int,
    stop: StopSignal,
    on_pass: Callable[[], None] = lambda: None,
) -> Iterator[tuple[_Key, VerifiedReply]]:
    """Answers every prompt `times` times, and yields the replies as they end. The prompt is read once for all of them.
    Replies that repeat themselves without end are left out. When `stop` gets set, what was written so far is yielded,
    as far as it is worth it; `on_pass` is called before every pass. The target must have at least `times` slots, and
    all must be empty.

    Unfinished replies have the first slots, without a gap, so that one pass computes all of them.
    """
    waiting = iter(tasks)
    running: list[_Writing[_Key]] = []  # by slot
    try:
        while True:
            while len(running) + times <= target.num_slots and (task := next(waiting, None)) is not None:
                on_pass()
                running += _begin(target, task, len(running), times, stop)
                yield from _take_ended(target, running)
            if not running:
                return
            on_pass()
            rows = target.evaluate({slot: each.tokens[-1:] for slot, each in enumerate(running)}, stop)
            for slot, each in enumerate(running):
                each.take(rows[slot])
            yield from _take_ended(target, running)
    except Interrupted:
        yield from (each.result for each in running if len(each.tokens) >= _FEWEST_TOKENS)


class _Writing(Generic[_Key]):
    def __init__(self, task: Task[_Key], ends: frozenset[int], dice: Dice) -> None:
        self._task = task
        self._ends = ends
        self._dice = dice
        self._notes = DistributionNotes(task.sampling.temperature)
        self.tokens: list[int] = []
        self.repeats = False

    def take(self, logits: FloatRow) -> None:
        """Takes the row after the last token."""
        row, sampling = RowScan(logits, NUM_NOTED), self._task.sampling
        size = sampling.penalty_window
        history = [*self._task.prompt[-size:], *self.tokens][-size:] if size else ()
        token = distribution_of(row, sampling, history).draw(self._dice)
        self._notes.note(token, row)
        self.tokens.append(token)
        self.repeats = self.repeats or (len(self.tokens) % LOOK_EVERY == 0 and repeats(self.tokens))

    @property
    def has_ended(self) -> bool:
        return self.repeats or len(self.tokens) >= self._task.max_tokens or self.tokens[-1] in self._ends

    @property
    def result(self) -> tuple[_Key, VerifiedReply]:
        reply = self._notes.first(len(self.tokens))
        assert reply is not None
        return self._task.key, reply


def _begin(target: ParallelTarget, task: Task[_Key], first: int, times: int, stop: StopSignal) -> list[_Writing[_Key]]:
    row = target.evaluate({first: task.prompt}, stop)[first]
    begun = [_Writing(task, target.vocabulary.end_of_generation, RandomDice(None)) for _ in range(times)]
    for each in begun:
        each.take(row)
    for slot in range(first + 1, first + times):
        target.copy(first, slot)
    return begun


def _take_ended(target: ParallelTarget, running: list[_Writing[_Key]]) -> Iterator[tuple[_Key, VerifiedReply]]:
    """Removes replies that have ended; the last one moves into each gap."""
    for slot in reversed(range(len(running))):
        each = running[slot]
        if not each.has_ended:
            continue
        last = running.pop()
        target.drop(slot)
        if last is not each:
            running[slot] = last
            target.copy(len(running), slot)
            target.drop(len(running))
        if not each.repeats:
            yield each.result
