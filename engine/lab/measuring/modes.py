"""The ways of decoding that are measured against each other."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from engine.config import ReplySettings
from engine.decoding.figures import DecodingFigures
from engine.decoding.loop import Decoder
from engine.decoding.session import Session
from engine.decoding.speculation import Speculation
from engine.lab.measuring.order import SimulatedCosts
from engine.lab.measuring.prompts import Question
from engine.messages.conversations import ChatTurn
from engine.messages.learned import VerifiedReply
from engine.messages.replies import ReplyListener, StopReason
from engine.numerics.likeliest import DistributionNotes
from engine.replies.reply import ReplyWriter
from engine.stop_signal import StopSignal
from engine.target.interface import Interrupted, Target
from engine.target.trace import TraceTarget


@dataclass(frozen=True, slots=True)
class Answer:
    """Tokens are the target's."""

    text: str
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]  # of the reply, without the one that ended it
    prompt_s: float
    wall_s: float  # of the rounds: from the end of the prompt pass to the last token
    figures: DecodingFigures  # of the rounds, in the same seconds
    own_s: float | None = None  # where `wall_s` is simulated: what translation and acceptance really took
    verified: VerifiedReply | None = None  # where the settings ask for it


class Mode(Protocol):
    """One way of decoding."""

    def answer(self, question: Question, stop: StopSignal) -> Answer:
        """Answers with nothing held from before. Raises Interrupted when `stop` gets set, and what ended the reply."""
        ...


class WriterMode:
    """Writes replies the very way the app does."""

    def __init__(self, target: Target, settings: ReplySettings, speculation: Speculation | None) -> None:
        self._target = target
        self._settings = settings
        self._speculation = speculation

    def answer(self, question: Question, stop: StopSignal) -> Answer:
        self._target.roll_back(0)
        writer = ReplyWriter(self._target, self._speculation)  # knows nothing of what was held
        prepared = writer.prepare(question.turns)
        reply = writer.write(prepared, self._settings, stop, ReplyListener())
        if reply.failure is not None:
            raise reply.failure
        if reply.statistics.stop_reason is StopReason.STOPPED:
            raise Interrupted
        return Answer(
            text=reply.text,
            prompt=prepared.prompt.tokens,
            tokens=reply.tokens,
            prompt_s=reply.statistics.prompt_s,
            wall_s=reply.statistics.reply_s,
            figures=reply.figures,
            verified=reply.verified,
        )


class ReplayMode:
    """Writes what was recorded. Its seconds are computed from counts; only `own_s` is a measured time."""

    def __init__(
        self, target: TraceTarget, settings: ReplySettings, speculation: Speculation | None, costs: SimulatedCosts
    ) -> None:
        self._target = target
        self._settings = settings
        self._speculation = speculation
        self._costs = costs

    def answer(self, question: Question, stop: StopSignal) -> Answer:
        assert question.response is not None
        prompt, num_recorded = self._target.replay(_text(question.turns), question.response)
        limit = self._settings.max_tokens
        if not self._target.vocabulary.end_of_generation:
            limit = max(1, num_recorded if limit is None else min(limit, num_recorded))
        session = Session(self._target)
        rows = session.read(prompt, stop)
        notes = DistributionNotes() if self._settings.keeps_distributions else None
        decoder = Decoder(
            self._target, session, self._settings.sampling, question.turns, self._speculation, notes=notes
        )
        tokens: list[int] = []
        ended = False
        began = time.perf_counter()
        for new in decoder.rounds(rows, stop, max_tokens=limit):
            tokens += new
            if new[-1] in self._target.vocabulary.end_of_generation:
                tokens.pop()
                ended = True
                break
            if limit is not None and len(tokens) >= limit:
                break
        real_s = time.perf_counter() - began
        verified = None if notes is None else notes.first(len(tokens) + ended)
        return self._answer(prompt, tokens, decoder.figures, real_s, verified)

    def _answer(
        self,
        prompt: list[int],
        tokens: list[int],
        measured: DecodingFigures,
        real_s: float,
        verified: VerifiedReply | None,
    ) -> Answer:
        draft_s = self._costs.draft_s(measured.num_steps)
        target_s = self._costs.target_s(measured.passes)
        pieces = self._target.vocabulary.pieces
        pass_s = defaultdict(float, {rows: self._costs.pass_s(rows) * num for rows, num in measured.passes.items()})
        return Answer(
            text=b"".join(pieces[token] for token in tokens).decode("utf-8", "replace"),
            prompt=tuple(prompt),
            tokens=tuple(tokens),
            prompt_s=0.0,  # nor does the drafter's reading of the prompt count
            wall_s=draft_s + target_s,
            figures=replace(
                measured,
                draft_s=draft_s,
                reading_s=0.0,
                num_readings=0,
                target_s=target_s,
                translate_s=0.0,
                accept_s=0.0,
                pass_s=pass_s,
            ),
            own_s=max(0.0, real_s - measured.draft_s - measured.target_s),
            verified=verified,
        )


def _text(turns: Sequence[ChatTurn]) -> str:
    """A plain rendering; what was recorded follows whatever the prompt is."""
    return "".join(f"{turn.role.value}: {turn.text}\n\n" for turn in turns) + "assistant:"
