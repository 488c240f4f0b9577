"""The ways of decoding that are measured against each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from engine.lab.measuring.order import SimulatedCosts
from engine.lab.measuring.prompts import BenchQuestion
from engine.speculation.decoding.figures import DecodingFigures
from engine.speculation.decoding.loop import Decoder
from engine.speculation.decoding.session import Session
from engine.speculation.decoding.speculation import Speculation
from engine.speculation.model.interface import Interrupted, Target
from engine.speculation.model.llama.trace import TraceTarget
from engine.speculation.numerics.likeliest import DistributionNotes
from engine.speculation.replies.reply import ReplyWriter
from engine.values.clock import now
from engine.values.config import ReplySettings
from engine.values.conversations import ChatTurn
from engine.values.learned import VerifiedReply
from engine.values.replies import StopReason
from engine.values.stop_signal import StopSignal


@dataclass(frozen=True, slots=True)
class ModeAnswer:
    """The answer in one mode. Tokens are the target's."""

    text: str
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]  # of the reply, without the one that ended it
    prompt_s: float
    wall_s: float  # of the rounds: from the end of the prompt pass to the last token
    figures: DecodingFigures  # of the rounds, in the same seconds
    own_s: float | None = None  # if `wall_s` is simulated: what translation and acceptance really took
    verified: VerifiedReply | None = None  # if the settings ask for it
    uncounted_s: float = 0.0  # of the drafter's reading of the prompt, if `wall_s` is simulated and leaves it out

    @property
    def drafter_prompt_s(self) -> float:
        """The seconds of the drafter's reading of the prompt, whether they count or not."""
        return self.figures.reading_s + self.uncounted_s


class Mode(Protocol):
    def answer(self, question: BenchQuestion, stop: StopSignal) -> ModeAnswer:
        """Answers with nothing held from before. Raises Interrupted when `stop` gets set, and what ended the reply."""


class WriterMode:
    """Writes replies the very way the app does."""

    def __init__(self, target: Target, settings: ReplySettings, speculation: Speculation | None) -> None:
        self._target = target
        self._settings = settings
        self._speculation = speculation

    def answer(self, question: BenchQuestion, stop: StopSignal) -> ModeAnswer:
        self._target.roll_back(0)
        writer = ReplyWriter(self._target, self._speculation)  # knows nothing of what was held
        prepared = writer.prepare(question.turns)
        reply = writer.write(prepared, self._settings, stop)
        if reply.failure is not None:
            raise reply.failure
        if reply.statistics.stop_reason is StopReason.STOPPED:
            raise Interrupted
        return ModeAnswer(
            text=reply.text,
            prompt=prepared.prompt.tokens,
            tokens=reply.tokens,
            prompt_s=reply.statistics.prompt_s,
            wall_s=reply.statistics.reply_s,
            figures=reply.figures,
            verified=reply.verified,
        )


class ReplayMode:
    def __init__(
        self, trace: TraceTarget, target: Target, settings: ReplySettings, speculation: Speculation | None
    ) -> None:
        """`target` is the trace itself, or what evaluates for it."""
        self._trace = trace
        self._target = target
        self._settings = settings
        self._speculation = speculation

    def answer(self, question: BenchQuestion, stop: StopSignal) -> ModeAnswer:
        assert question.response is not None
        self._target.roll_back(0)
        context_size = self._target.limits.context_size
        prompt, num_recorded = self._trace.replay(_text(question.turns), question.response, context_size)
        began = now()
        session = Session(self._target)
        rows = session.read(prompt, stop)
        read = now()
        sampling = self._settings.sampling
        notes = DistributionNotes(sampling.temperature) if self._settings.keeps_distributions else None
        decoder = Decoder(self._target, session, sampling, question.turns, self._speculation, notes=notes)
        limit = self._limit(num_recorded)
        tokens, ended = self._write(decoder.rounds(rows, stop, max_tokens=limit), limit)
        wall_s = now() - read
        if self._speculation is not None:
            self._speculation.end_reply()
        pieces = self._target.vocabulary.pieces
        return ModeAnswer(
            text=b"".join(pieces[token] for token in tokens).decode("utf-8", "replace"),
            prompt=tuple(prompt),
            tokens=tuple(tokens),
            prompt_s=read - began,
            wall_s=wall_s,
            figures=decoder.figures,
            verified=None if notes is None else notes.first(len(tokens) + ended),
        )

    def _limit(self, num_recorded: int) -> int | None:
        """The limit of a reply's tokens; if no token ends replies, the recorded length does."""
        limit = self._settings.max_tokens
        if self._target.vocabulary.end_of_generation:
            return limit
        return max(1, num_recorded if limit is None else min(limit, num_recorded))

    def _write(self, rounds: Iterator[tuple[int, ...]], limit: int | None) -> tuple[list[int], bool]:
        """The tokens of the reply without the one that ended it, and whether there was one."""
        tokens: list[int] = []
        for new in rounds:
            tokens += new
            if new[-1] in self._target.vocabulary.end_of_generation:
                return tokens[:-1], True
            if limit is not None and len(tokens) >= limit:
                break
        return tokens, False


class SimulatedMode:
    """The answers of another mode, with seconds computed from counts; only `own_s` is a measured time."""

    def __init__(self, mode: Mode, costs: SimulatedCosts) -> None:
        self._mode = mode
        self._costs = costs

    def answer(self, question: BenchQuestion, stop: StopSignal) -> ModeAnswer:
        answer = self._mode.answer(question, stop)
        measured, costs = answer.figures, self._costs
        draft_s = costs.draft_s(measured.num_steps, measured.draft_s - measured.reading_s)
        target_s = costs.target_s(measured.passes)
        figures = replace(
            measured,
            draft_s=draft_s,
            reading_s=0.0,
            num_readings=measured.num_readings if costs.step is None else 0,
            target_s=target_s,
            translate_s=0.0,
            accept_s=0.0,
            pass_s=defaultdict(float, {rows: costs.pass_s(rows) * num for rows, num in measured.passes.items()}),
        )
        return replace(
            answer,
            prompt_s=0.0,
            wall_s=draft_s + target_s,
            figures=figures,
            own_s=max(0.0, answer.wall_s - measured.draft_s - measured.target_s),
            uncounted_s=costs.reading_s(measured.num_read, measured.reading_s),
        )


def _text(turns: Sequence[ChatTurn]) -> str:
    """A plain rendering; what was recorded follows whatever the prompt is."""
    return "".join(f"{turn.role.value}: {turn.text}\n\n" for turn in turns) + "assistant:"
