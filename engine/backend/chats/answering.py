"""Answers what clients of the server ask: as chats are answered, but nothing is stored unless the user allows it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from engine.values.asked import Answered, Asked, Refusal, Refused
from engine.values.config import ReplySettings
from engine.values.errors import Cancelled, MendableError, NotPossible, PromptTooLong, StoreUnusable
from engine.values.events import Listener, ReplyFinished
from engine.values.growing_reply import GrowingReply, ReplySoFar
from engine.values.owner import Owner
from engine.values.requests import NEVER, ignore
from engine.values.sentences import say
from engine.values.stop_signal import StopSignal

_logger = logging.getLogger("slipstream.answering")
_LOST = "The reply was not written to its end because of a fault in Slipstream; ask again."


@dataclass(frozen=True, slots=True)
class _Job:
    asked: Asked
    settings: ReplySettings
    is_remembered: bool
    owner: Owner


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

    def answer(
        self,
        asked: Asked,
        settings: ReplySettings,
        is_remembered: bool,
        owner: Owner,
        stop: StopSignal = NEVER,
        progress: Callable[[ReplySoFar], object] = ignore,
    ) -> Answered:
        """`settings`: the user's; `is_remembered`: it is stored as a chat, as if it had been written in the window.
        Raises Refused, and Cancelled where the program has gone before its reply began."""
        local = self._local(stop)
        with _refusing():
            job = _Job(asked, self._settings(asked, settings), is_remembered, owner)
            with self._recall.beside(asked.expected, owner, partial(self._look_up, stop)):
                return self._answer(job, local, stop, progress)

    def count(self, asked: Asked, settings: ReplySettings, owner: Owner, stop: StopSignal = NEVER) -> int:
        """The number of tokens of the prompt. Raises as `answer` does, also where the prompt is too long."""
        writer = self._local(stop).writer
        with _refusing():
            prepare = partial(_prepared, asked, self._settings(asked, settings), writer, owner)
            return self._undisturbed(prepare, stop).prompt.num_cells

    def _local(self, stop: StopSignal) -> Local:
        """What is loaded. Raises Refused."""
        try:
            self._target.require(stop)
        except MendableError as error:
            raise Refused(Refusal.NOT_READY, error.sentence) from error
        if self._target.local is None:  # the user agreed to send chats there, not what other programs ask
            raise Refused(
                Refusal.NOT_READY,
                say("The model in use is on another server; ask that one, or choose a model on this computer."),
            )
        return self._target.local

    def _answer(self, job: _Job, local: Local, stop: StopSignal, progress: Callable[[ReplySoFar], object]) -> Answered:
        asked, settings, writer = job.asked, job.settings, local.writer
        prepared = self._undisturbed(partial(_prepared, asked, settings, writer, job.owner), stop)
        kept = self._keep(asked, stop) if job.is_remembered and prepared.turns else None
        learns = kept is not None and settings.learns
        settings = replace(
            settings,
            learns=learns,
            keeps_distributions=learns and not asked.begun and self._learning.wants_distributions,
        )
        with self._target.watched():
            reply = writer.write(prepared, settings, stop, GrowingReply(progress), self._precedence)
        if kept is not None:
            self._remember(job, local, kept, prepared, reply, learns)
        failure = "" if reply.failure is None else str(reply.failure)
        if reply.failure is not None and not isinstance(reply.failure, MendableError):
            failure = _LOST
            _logger.error("a reply for a program failed", exc_info=reply.failure)
        else:
            self._target.prove()
        return Answered(reply.text, reply.thoughts, reply.calls, reply.statistics, failure)

    def _undisturbed(self, prepare: Callable[[StopSignal], PreparedReply], stop: StopSignal) -> PreparedReply:
        """Prepares the reply, again after each break. Raises Interrupted when `stop` gets set."""
        while True:
            try:
                return prepare(self._precedence.signal(stop))
            except Interrupted:
                if stop.is_set():
                    raise
                self._precedence.give_way()

    def _look_up(self, stop: StopSignal) -> None:
        """Lets others go first; called between the steps of long work that has no breaks itself. Raises Interrupted."""
        if stop.is_set():
            raise Interrupted
        self._precedence.give_way()

    def _settings(self, asked: Asked, settings: ReplySettings) -> ReplySettings:
        """The user's, with what the program sets over them. Raises SettingInvalid."""
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
        self, job: _Job, local: Local, kept: Kept, prepared: PreparedReply, reply: Reply, learns: bool
    ) -> None:
        asked = job.asked
        number = self._keeper.begin_reply()
        whole = ReplyToKeep(
            number=number,
            conversation_id=kept.conversation_id,
            prompt_id=kept.prompt.id,
            text=asked.begun + reply.text,
            thoughts=reply.thoughts,
            statistics=replace(reply.statistics, origins=() if asked.begun else reply.statistics.origins),
            target_name=local.writer.target_name,
            target_identity=local.source.identity or None,
            calls=reply.calls,
        )
        try:
            message = self._keeper.finish(whole)
        except MendableError as error:  # deleted meanwhile
            _logger.info("a reply was not kept: %s", error)
            return
        self._emit(ReplyFinished(message, self._keeper.siblings_of(message)))
        self._remembering.note(asked.client, asked.turns, kept, message)
        if learns and message.id > 0 and not asked.begun:
            self._recall.add(kept.prompt, owner=job.owner)
            self._recall.add(message, reply.tokens, job.owner)
            self._learning.take(message, prepared.turns, reply.verified, local.target.vocabulary)
            self._catch_up()


@contextmanager
def _refusing() -> Iterator[None]:
    """Raises Refused for what the user or the program can mend, and Cancelled where the program has gone."""
    try:
        yield
    except Interrupted:
        raise Cancelled from None  # no one is left to report it to
    except MendableError as error:
        raise Refused(_refusal_of(error), error.sentence) from error


def _prepared(
    asked: Asked, settings: ReplySettings, writer: ReplyWriter, owner: Owner, stop: StopSignal
) -> PreparedReply:
    """Raises what `ReplyWriter.prepare` raises, and NotPossible."""
    if asked.text is not None:
        return writer.prepare_bare(asked.text, owner, stop)
    if asked.tools and not writer.can_try_tools:
        raise NotPossible(
            "{target_name} cannot use tools: its chat template has no place for them. Send none, or choose another "
            "model.",
            target_name=writer.target_name,
        )
    is_past = bool(asked.begun) or asked.must_call is not None  # its thoughts
    thinks = False if is_past else settings.asks_to_think
    return writer.prepare(
        asked.turns,
        begun=asked.begun,
        thinks=thinks,
        tools=asked.tools,
        keeps_all=True,
        must_call=asked.must_call,
        more=asked.names,
        owner=owner,
        stop=stop,
    )


def _refusal_of(error: MendableError) -> Refusal:
    if isinstance(error, PromptTooLong):
        return Refusal.TOO_LONG
    return Refusal.INVALID
