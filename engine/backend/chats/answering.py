"""Answers what clients of the server ask: as chats are answered, but nothing is stored unless the user allows it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from engine.backend.chats.message_keeper import MessageKeeper, ReplyToKeep
from engine.backend.chats.remembering import Kept, Remembering
from engine.backend.chats.target_in_use import Local, TargetInUse
from engine.backend.precedence import Precedence
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.recall import Recall
from engine.speculation.model.interface import Interrupted
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.run import PreparedReply
from engine.speculation.replies.writing import Reply
from engine.values.asked import Asked, Refusal
from engine.values.commands import Answer
from engine.values.config import ReplySettings
from engine.values.errors import MendableError, NotPossible, PromptTooLong, StoreUnusable
from engine.values.events import (
    AnswerEnded,
    AnswerRefused,
    AnswerStarted,
    AnswerText,
    AnswerThought,
    Listener,
    ReplyFinished,
)
from engine.values.owner import Owner
from engine.values.replies import OriginRun, ReplyListener, ThoughtPiece, TokenLog
from engine.values.sentences import say
from engine.values.speed import LiveFigures
from engine.values.stop_signal import StopSignal

_logger = logging.getLogger("slipstream.answering")
_LOST = "The reply was not written to its end because of a fault in Slipstream; ask again."


@dataclass(frozen=True)
class Answering:
    """The chat thread calls all methods."""

    _recall: Recall
    _learning: LearningService
    _target: TargetInUse
    _keeper: MessageKeeper
    _remembering: Remembering
    _precedence: Precedence
    _emit: Listener
    _catch_up: Callable[[], object]

    def answer(self, command: Answer, stop: StopSignal) -> None:
        """What the client can mend is told to it, and raises nothing."""
        if stop.is_set():  # it went away while it waited
            return
        try:
            self._target.require(stop)
        except MendableError as error:
            self._emit(AnswerRefused(command.number, Refusal.NOT_READY, str(error)))
            return
        if self._target.local is None:  # the user agreed to send chats there, not what other programs ask
            sentence = say("The model in use is on another server; ask that one, or choose a model on this computer.")
            self._emit(AnswerRefused(command.number, Refusal.NOT_READY, sentence))
            return
        try:
            with self._recall.beside(command.asked.expected, command.owner, partial(self._look_up, stop)):
                self._answer(command, self._target.local, stop)
        except Interrupted:  # it went away before its reply began
            return
        except MendableError as error:
            self._emit(AnswerRefused(command.number, _refusal_of(error), str(error)))

    def _answer(self, command: Answer, local: Local, stop: StopSignal) -> None:
        asked, writer = command.asked, local.writer
        settings = self._settings(command)
        prepared = self._undisturbed(partial(_prepared, asked, settings, writer, command.owner), stop)
        kept = self._keep(asked, stop) if command.is_remembered and prepared.turns else None
        learns = kept is not None and settings.learns
        settings = replace(
            settings,
            learns=learns,
            keeps_distributions=learns and not asked.begun and self._learning.wants_distributions,
        )
        events = _AnswerEvents(command.number, self._emit)
        with self._target.watched():
            reply = writer.write(prepared, settings, stop, events, self._precedence)
        if kept is not None:
            self._remember(command, local, kept, prepared, reply, learns)
        failure = "" if reply.failure is None else str(reply.failure)
        if reply.failure is not None and not isinstance(reply.failure, MendableError):
            failure = _LOST
        said = reply.text, reply.thoughts, reply.calls, reply.statistics
        self._emit(AnswerEnded(command.number, *said, failure))
        if reply.failure is not None and failure is _LOST:
            raise reply.failure
        self._target.prove()

    def _undisturbed(self, prepare: Callable[[StopSignal], PreparedReply], stop: StopSignal) -> PreparedReply:
        """Anew after each break. Raises Interrupted when `stop` gets set."""
        while True:
            try:
                return prepare(self._precedence.signal(stop))
            except Interrupted:
                if stop.is_set():
                    raise
                self._precedence.give_way()

    def _look_up(self, stop: StopSignal) -> None:
        """Between two steps of what is long and breaks nowhere else. Raises Interrupted."""
        if stop.is_set():
            raise Interrupted
        self._precedence.give_way()

    def _settings(self, command: Answer) -> ReplySettings:
        """Those of the user, with what the client sets over them. Raises SettingInvalid."""
        asked, settings = command.asked, command.settings
        chosen: dict[str, Any] = dict(asked.sampling)
        sampling = replace(self._target.options.sampling or settings.sampling, **chosen)
        return replace(
            settings,
            sampling=sampling,
            max_tokens=asked.max_tokens or settings.max_tokens,
            max_thought=asked.max_thought or settings.max_thought,
            stop_strings=asked.stop_strings,
            thinks=settings.thinks if asked.thinks is None else asked.thinks,
            tools=(),
            num_logs=asked.num_logs,
        )

    def _keep(self, asked: Asked, stop: StopSignal) -> Kept | None:
        """None where the store refuses: the client is answered all the same."""
        try:
            return self._remembering.keep(asked.client, asked.turns, partial(self._look_up, stop))
        except StoreUnusable as error:
            _logger.warning("a request was not kept: %s", error)
            return None

    def _remember(
        self, command: Answer, local: Local, kept: Kept, prepared: PreparedReply, reply: Reply, learns: bool
    ) -> None:
        asked = command.asked
        number = self._keeper.begin_reply()
        whole = ReplyToKeep(
            *(number, kept.conversation_id, kept.prompt.id, asked.begun + reply.text, reply.thoughts),
            replace(reply.statistics, origins=() if asked.begun else reply.statistics.origins),
            *(local.writer.target_name, local.source.identity or None, reply.calls),
        )
        try:
            message = self._keeper.finish(whole)
        except MendableError as error:  # deleted meanwhile
            _logger.info("a reply was not kept: %s", error)
            return
        self._emit(ReplyFinished(message, self._keeper.siblings_of(message)))
        self._remembering.note(asked.client, asked.turns, kept, message)
        if learns and message.id > 0 and not asked.begun:
            self._recall.add(kept.prompt, owner=command.owner)
            self._recall.add(message, reply.tokens, command.owner)
            self._learning.take(message, prepared.turns, reply.verified, local.target.vocabulary)
            self._catch_up()


def _prepared(
    asked: Asked, settings: ReplySettings, writer: ReplyWriter, owner: Owner, stop: StopSignal
) -> PreparedReply:
    """Raises what `ReplyWriter.prepare` raises, and NotPossible."""
    if asked.text is not None:
        return writer.prepare_bare(asked.text, owner, stop)
    if asked.tools and not writer.calls_tools:
        raise NotPossible(
            "{target_name} cannot use tools: its chat template has no place for them. Send none, or choose another "
            "model.",
            target_name=writer.target_name,
        )
    is_past = bool(asked.begun) or asked.must_call is not None  # its thoughts
    thinks = False if is_past else settings.asks_to_think
    return writer.prepare(
        *(asked.turns, None, asked.begun, (), thinks, asked.tools),
        keeps_all=True,
        must_call=asked.must_call,
        owner=owner,
        stop=stop,
    )


@dataclass
class _AnswerEvents(ReplyListener):
    number: int
    emit: Listener
    _logs: list[TokenLog] = field(default_factory=list)  # of the text that follows

    def on_prompt(self, num_tokens: int, num_left_out: int) -> None:  # noqa: ARG002
        self.emit(AnswerStarted(self.number, num_tokens))

    def on_logs(self, logs: tuple[TokenLog, ...]) -> None:
        self._logs += logs

    def on_text(self, text: str, figures: LiveFigures, origins: tuple[OriginRun, ...]) -> None:  # noqa: ARG002
        logs = tuple(self._logs)
        self._logs.clear()
        self.emit(AnswerText(self.number, text, logs))

    def on_thought(self, piece: ThoughtPiece, figures: LiveFigures) -> None:  # noqa: ARG002
        if piece.text:
            self.emit(AnswerThought(self.number, piece.text))


def _refusal_of(error: MendableError) -> Refusal:
    if isinstance(error, PromptTooLong):
        return Refusal.TOO_LONG
    return Refusal.INVALID
