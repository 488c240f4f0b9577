"""Asks every mode every question.

The speed of a machine drifts, so the modes take turns question by question, and which one comes first changes each
time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.lab.measuring.machine import memory_mb
from engine.lab.measuring.modes import Mode, ModeAnswer
from engine.lab.measuring.order import PLAIN
from engine.lab.measuring.prompts import BenchQuestion, ScriptedChat
from engine.speculation.decoding.session import Session
from engine.speculation.model.interface import Interrupted, Target
from engine.speculation.numerics.draft import common_prefix_length
from engine.values.errors import PromptTooLong
from engine.values.stop_signal import StopSignal


@dataclass(frozen=True, slots=True)
class Fork:
    position: int  # in the reply's tokens: the first that differs, or where one of both has ended
    logit_gap: float | None  # largest logit less the other token's; None where it could not be computed


class Gauge(Protocol):
    def gap(self, prompt: Sequence[int], reply: Sequence[int], token: int | None, stop: StopSignal) -> float | None:
        """How much likelier than `token` (None: the end of the reply) another one is after `prompt` and `reply`."""


class LogitGauge:
    """Evaluates as plain decoding does, one token after the other: batched passes use other kernels, and the tie would
    look different."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def gap(self, prompt: Sequence[int], reply: Sequence[int], token: int | None, stop: StopSignal) -> float | None:
        """The gap; None if prompt and reply are longer than the context: older turns had left before. Raises
        Interrupted."""
        if len(prompt) + len(reply) > self._target.limits.context_size:
            return None
        others = [token] if token is not None else sorted(self._target.vocabulary.end_of_generation)
        self._target.roll_back(0)
        session = Session(self._target)
        rows = session.read(prompt, stop)
        for written in reply:
            rows = session.extend([written], stop, num_rows=1)
        row = rows[-1]
        return float(row.max() - row[others].max()) if others else None


def find_fork(plain: ModeAnswer, other: ModeAnswer, gauge: Gauge, stop: StopSignal) -> Fork | None:
    """The fork; None if both wrote the same. Raises Interrupted."""
    if plain.tokens == other.tokens:
        return None
    position = common_prefix_length(plain.tokens, other.tokens)
    token = other.tokens[position] if position < len(other.tokens) else None
    return Fork(position, gauge.gap(plain.prompt, plain.tokens[:position], token, stop))


# Not from the file, so that no mode has seen a question before it counts.
_WARM_UP = ScriptedChat(
    "warm-up",
    "",
    (),
    ("Describe a walk along a river in three sentences.",),
    "The path follows the water under old willows. A heron stands in the reeds. At the bridge we turn back.",
)


@dataclass(frozen=True, slots=True)
class ModeComparison:
    question: BenchQuestion
    answers: Mapping[str, ModeAnswer]  # by mode
    forks: Mapping[str, Fork]  # by mode: of those that parted from plain's text, if that was examined


@dataclass(frozen=True, slots=True)
class BenchOutcome:
    comparisons: tuple[ModeComparison, ...]
    skipped: tuple[str, ...]  # ids of questions too long for the context
    memory_mb: Mapping[str, float]  # by mode: the most that this process held after an answer of it
    interrupted: bool  # whether it was ended early; what had been compared until then counts


class Bench:
    def __init__(
        self,
        modes: Mapping[str, Mode],
        gauge: Gauge | None = None,
        read_memory_mb: Callable[[], float] = memory_mb,
    ) -> None:
        """`gauge` measures how nearly tied two tokens were where texts part; None if texts part anyway, as they do when
        sampling."""
        self._modes = modes
        self._gauge = gauge
        self._read_memory_mb = read_memory_mb
        self._memory_mb = dict.fromkeys(modes, 0.0)

    def run(
        self,
        chats: Sequence[ScriptedChat],
        stop: StopSignal,
        on_compared: Callable[[ModeComparison], None] = lambda _: None,
    ) -> BenchOutcome:
        """Raises what an answer raises; a question that is too long ends its chat only."""
        comparisons: list[ModeComparison] = []
        skipped: list[str] = []
        interrupted = False
        try:
            self._ask(_WARM_UP.question(()), 0, stop)
            for number, chat in enumerate(chats):
                replies: list[str] = []
                while len(replies) < len(chat.prompts):
                    question = chat.question(replies)
                    try:
                        comparison = self._ask(question, number, stop)
                    except PromptTooLong:
                        skipped.append(question.id)
                        break
                    comparisons.append(comparison)
                    on_compared(comparison)
                    # The same reply for all modes: else their next questions would differ.
                    continued = PLAIN if PLAIN in self._modes else next(iter(self._modes))
                    replies.append(comparison.answers[continued].text)
        except Interrupted:
            interrupted = True
        return BenchOutcome(tuple(comparisons), tuple(skipped), dict(self._memory_mb), interrupted)

    def _ask(self, question: BenchQuestion, number: int, stop: StopSignal) -> ModeComparison:
        names = list(self._modes)
        first = number % len(names)
        answers = {}
        for name in names[first:] + names[:first]:
            answers[name] = self._modes[name].answer(question, stop)
            self._memory_mb[name] = max(self._memory_mb[name], self._read_memory_mb())
        return ModeComparison(question, answers, self._forks(answers, stop))

    def _forks(self, answers: Mapping[str, ModeAnswer], stop: StopSignal) -> dict[str, Fork]:
        if self._gauge is None or PLAIN not in answers:
            return {}
        forks = {name: find_fork(answers[PLAIN], answer, self._gauge, stop) for name, answer in answers.items()}
        return {name: fork for name, fork in forks.items() if fork is not None}
