"""Writes replies with the model of a server: the same verbs as with a target of this program."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace

from engine.backend.remote.connection import ServerConnection
from engine.backend.remote.deltas import Delta, Deltas, EndReason
from engine.backend.remote.failures import Busy, Lost, NotReached, Stopped, TooLong, Unsent, halved
from engine.backend.remote.growing import RemoteReply
from engine.backend.remote.request import body_of
from engine.backend.remote.waiting import rest
from engine.speculation.replies.writing import Prepared, Reply
from engine.values.config import ReplySettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import CertificateUntrusted, MendableError, NotPossible, PromptTooLong, RemoteFailed
from engine.values.growing_reply import GrowingReply
from engine.values.remote import RemoteModel, RemoteServer, ServerKind
from engine.values.replies import StopReason, Thought
from engine.values.sentences import say
from engine.values.stop_signal import StopSignal
from engine.values.tools import Tool

_PATH = "/chat/completions"
_PAUSES_S: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)  # between tries where the server does not say how long
_MOST_TRIES_UNREACHED = 3  # of a server that nobody hears: it may be starting just now
_MOST_SHORTENED = 8  # times that turns are left out before one reply
_MARGIN = 0.9  # of what fits, by characters


class RemoteWriter:
    """Implements `replies.writing.Writer`. What it knows of the server is asked for with each reply: a key or a
    certificate that was changed meanwhile counts at once."""

    def __init__(self, server: RemoteServer, model: RemoteModel, connect: Callable[[], ServerConnection]) -> None:
        self.server = server
        self.model = model
        self._connect = connect
        self._left_out: tuple[Hashable, int] = (None, 0)  # the last conversation, and turns left out of its prompt

    @property
    def target_name(self) -> str:
        return self.model.name

    @property
    def sees_pictures(self) -> bool:
        return self.model.sees_pictures is True

    @property
    def calls_tools(self) -> bool:
        return self.model.calls_tools is not False

    @property
    def thinks_unless_told(self) -> bool | None:
        return self.model.thinks

    def close(self) -> None:
        """Nothing is held between replies."""

    def prepare(
        self,
        turns: Sequence[ChatTurn],
        conversation: Hashable = None,
        begun: str = "",
        thoughts: tuple[Thought, ...] = (),
        thinks: bool | None = None,
        tools: Sequence[Tool] = (),
        keeps_all: bool = False,
    ) -> Prepared:
        """Asks nobody. Raises NotPossible for a reply that ended in the middle of a thought."""
        if thoughts and not thoughts[-1].is_whole:
            raise NotPossible(
                "This reply ended in the middle of a thought, which servers cannot continue; regenerate the reply."
            )
        return Prepared(
            turns=tuple(turns),
            conversation=conversation,
            begun=begun,
            thoughts=thoughts,
            thinks=thinks,
            tools=tuple(tools),
            keeps_all=keeps_all,
        )

    def write(
        self, prepared: Prepared, settings: ReplySettings, stop: StopSignal, growing: GrowingReply | None = None
    ) -> Reply:
        """Raises NotPossible, before it begins, for what such a server cannot do."""
        body_of(prepared, self.model.id, self.server.kind, settings)  # raises
        known, num_left_out = self._left_out
        num_left_out = num_left_out if known == prepared.conversation else 0
        run = _RemoteRun(self, prepared, settings, stop, growing or GrowingReply(), num_left_out)
        reply = run.finish(self._connect)
        self._left_out = (prepared.conversation, reply.statistics.left_out_messages)
        return reply


class _RemoteRun:
    """One reply while it is being written."""

    def __init__(
        self,
        writer: RemoteWriter,
        prepared: Prepared,
        settings: ReplySettings,
        stop: StopSignal,
        growing: GrowingReply,
        num_left_out: int,
    ) -> None:
        self._writer = writer
        self._prepared = prepared
        self._settings = settings
        self._stop = stop
        self._growing = growing
        self._turns = _Turns(prepared.turns, 0 if prepared.keeps_all else num_left_out)
        self._reply = RemoteReply(writer.model, prepared, growing, self._turns.num_left_out)
        may_begin_anew = writer.server.kind in (ServerKind.OLLAMA, ServerKind.LM_STUDIO, ServerKind.OTHER)
        self._begun = prepared.begun if may_begin_anew else ""
        self._was_sent = False  # so that the server may have seen it

    def finish(self, connect: Callable[[], ServerConnection]) -> Reply:
        self._growing.begin(0, self._turns.num_left_out)
        failure: Exception | None = None
        try:
            reason = self._write(connect())
        except Stopped:
            reason = StopReason.STOPPED
        except Lost as error:
            reason, failure = StopReason.CUT_OFF, error
        except Exception as error:  # the text so far is the user's, whatever happened
            reason, failure = StopReason.FAILED, error
        return replace(self._reply.ended(reason, failure), was_sent=self._was_sent)

    def _write(self, connection: ServerConnection) -> StopReason:
        """Asks until the server begins to write. Raises RemoteFailed, PromptTooLong, NotPossible and Stopped."""
        num_tried = num_shortened = 0
        while True:
            try:
                return self._read(connection)
            except TooLong as error:
                num_shortened += 1
                if self._prepared.keeps_all or num_shortened > _MOST_SHORTENED or not self._turns.shorten(error.share):
                    raise _too_long(connection) from error
                self._reply.num_left_out = self._turns.num_left_out
                self._growing.trim(self._turns.num_left_out)
            except (NotReached, Busy) as error:  # it has not begun
                num_tried += 1
                most = len(_PAUSES_S) if isinstance(error, Busy) else _MOST_TRIES_UNREACHED
                if num_tried > most or self._reply.has_begun:
                    raise
                self._rest(connection, error, _PAUSES_S[num_tried - 1])

    def _rest(self, connection: ServerConnection, error: NotReached | Busy, pause_s: float) -> None:
        if isinstance(error, Busy) and error.wait_s is not None:
            pause_s = max(error.wait_s, _PAUSES_S[0])
        seconds = math.ceil(pause_s)
        if isinstance(error, Busy):
            told = say("{host} is busy; trying again in {number} second(s).", host=connection.host, number=seconds)
        else:
            told = say(
                "{host} does not answer; trying again in {number} second(s).", host=connection.host, number=seconds
            )
        self._growing.wait(told)
        rest(pause_s, self._stop)

    def _read(self, connection: ServerConnection) -> StopReason:
        prepared = replace(self._prepared, turns=self._turns.told)
        body = body_of(prepared, self._writer.model.id, self._writer.server.kind, self._settings)
        deltas = Deltas(connection.host)
        self._reply.begin(deltas, self._begun, connection.host)
        try:
            with connection.stream(_PATH, body, self._stop) as streamed:
                self._was_sent = True
                for delta in self._until_lost(deltas.read(streamed), deltas):
                    self._reply.add(delta)
        except (Unsent, CertificateUntrusted):
            raise
        except BaseException:
            self._was_sent = True
            raise
        self._reply.finish()
        return self._reason(deltas, connection)

    def _until_lost(self, found: Iterator[Delta], deltas: Deltas) -> Iterator[Delta]:
        """A connection that breaks after the server has said why the reply ends takes nothing with it."""
        try:
            yield from found
        except Lost:
            if deltas.ending is None:
                raise

    def _reason(self, deltas: Deltas, connection: ServerConnection) -> StopReason:
        match deltas.ending:
            case EndReason.STOP | EndReason.CALLS:
                return StopReason.END
            case EndReason.LENGTH:
                return self._full(deltas)
            case EndReason.FILTERED:
                raise RemoteFailed("{host} ended the reply because of its content.", host=connection.host)
        if deltas.is_done:
            return StopReason.END
        raise halved(connection.host)

    def _full(self, deltas: Deltas) -> StopReason:
        most = self._settings.max_tokens
        is_full = most is None or 0 < deltas.counts.reply < most
        return StopReason.CONTEXT_FULL if is_full else StopReason.LENGTH


class _Turns:
    """Those that are told, without the oldest ones where not all fit."""

    def __init__(self, turns: Sequence[ChatTurn], num_left_out: int) -> None:
        self._all = tuple(turns)
        self._num_system = next((place for place, each in enumerate(turns) if each.role is not Role.SYSTEM), 0)
        self.num_left_out = 0
        for place in self._places():
            if place - self._num_system <= num_left_out:
                self.num_left_out = place - self._num_system

    @property
    def told(self) -> tuple[ChatTurn, ...]:
        return self._all[: self._num_system] + self._all[self._num_system + self.num_left_out :]

    def shorten(self, share: float) -> bool:
        """Leaves out as many as it takes for the rest to be at most this share of what was told. False where no turn
        can leave: the last message stays, with all behind it."""
        most = share * _MARGIN * sum(map(_size, self.told))
        later = [place for place in self._places() if place - self._num_system > self.num_left_out]
        for place in later:
            self.num_left_out = place - self._num_system
            if sum(map(_size, self.told)) <= most:
                break
        return bool(later)

    def _places(self) -> list[int]:
        """Where the told turns may begin: with messages of the user."""
        return [place for place, each in enumerate(self._all) if each.role is Role.USER and place >= self._num_system]


def _size(turn: ChatTurn) -> int:
    return len(turn.text) + sum(len(call.arguments) for call in turn.calls) + 16


def _too_long(connection: ServerConnection) -> MendableError:
    return PromptTooLong(
        "Your message alone does not fit into what the model on {host} can read at once; shorten it, or have the "
        "server load the model with a larger context.",
        host=connection.host,
    )
