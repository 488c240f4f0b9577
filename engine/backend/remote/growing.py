"""A reply of a server as it grows: its text, thoughts and calls, and what is known of its speed."""

from __future__ import annotations

from engine.backend.remote.deltas import Delta, Deltas
from engine.speculation.model.chat.thinking import ThinkingTags
from engine.speculation.replies.calls import new_call_id
from engine.speculation.replies.speed import ReplySpeed
from engine.speculation.replies.text import text_kind
from engine.speculation.replies.thoughts import PartKind, ReplyPart, ThoughtSplitter
from engine.speculation.replies.writing import Prepared, Reply
from engine.values.clock import now
from engine.values.errors import NotPossible
from engine.values.growing_reply import GrowingReply
from engine.values.origins import SERVER
from engine.values.remote import RemoteModel
from engine.values.replies import ProposerCounts, ReplyStatistics, StopReason
from engine.values.speed import LiveFigures
from engine.values.tools import ToolCall, told_names

_FEWEST = 16  # characters that are the same by chance hardly ever


class Continuation:
    """Holds back what is written while it may be the beginning over again, which is then left out."""

    def __init__(self, begun: str, host: str) -> None:
        self._begun = begun.strip() if len(begun.strip()) >= _FEWEST else ""
        self._host = host
        self._waiting = ""
        self._is_over = not self._begun

    def feed(self, text: str) -> str:
        """What is new. Raises NotPossible where the server begins anew, in other words."""
        if self._is_over:
            return text
        self._waiting += text
        told = self._waiting.lstrip()
        if self._begun.startswith(told):
            return self._released("") if told == self._begun else ""
        if told.startswith(self._begun):
            return self._released(told[len(self._begun) :])
        self._check(told)
        return self._released(self._waiting)

    def finish(self) -> str:
        """What still waits. Raises NotPossible, too."""
        if not self._waiting or self._is_over:
            return ""
        self._check(self._waiting.lstrip())
        return self._released(self._waiting)

    def _released(self, text: str) -> str:
        self._is_over, self._waiting = True, ""
        return text

    def _check(self, told: str) -> None:
        if told[:_FEWEST] == self._begun[:_FEWEST]:
            raise NotPossible(
                "{host} cannot continue a reply; it starts over. Ask for more in a message, or regenerate the reply.",
                host=self._host,
            )


_TAGS = ThinkingTags("<think>", "</think>", "</think>")  # of servers that leave thoughts in the answer


class RemoteReply:
    """What a server has told of a reply, written into `growing`."""

    def __init__(self, model: RemoteModel, prepared: Prepared, growing: GrowingReply, num_left_out: int) -> None:
        self._model = model
        self._prepared = prepared
        self._growing = growing
        self.num_left_out = num_left_out
        self._is_told_apart = False  # whether the server tells thoughts in a field of their own
        self._splitter = ThoughtSplitter(_TAGS, has_begun=bool(prepared.begun))
        self._deltas = Deltas("")
        self._continuation = Continuation("", "")
        self._asked_at = now()
        self._first_at: float | None = None
        self._last_at = 0.0
        self._speed: ReplySpeed | None = None

    @property
    def has_begun(self) -> bool:
        return self._first_at is not None

    def begin(self, deltas: Deltas, begun: str, host: str) -> None:
        """The server is asked now."""
        self._deltas = deltas
        self._continuation = Continuation(begun, host)
        self._asked_at = now()

    def add(self, delta: Delta) -> None:
        """Raises NotPossible where the server begins anew what it was to go on with."""
        if not (delta.text or delta.thought or delta.call):
            self._note_speed()
            return
        self._last_at = now()
        if self._first_at is None:
            self._first_at = self._last_at
            self._growing.begin_thought()
        self._note_speed()
        if delta.thought:
            self._is_told_apart = True
            self._growing.think(delta.thought, self._figures())
        if delta.text:
            self._answer(self._continuation.feed(delta.text))
        if delta.call:
            self._growing.end_thought(self._figures())
            self._growing.call(self._figures())
        if self._growing.is_part_due:
            self._growing.tell_part(self._statistics(StopReason.CUT_OFF))

    def finish(self) -> None:
        """Nothing more follows. Raises NotPossible, too."""
        self._answer(self._continuation.finish())

    def ended(self, reason: StopReason, failure: Exception | None) -> Reply:
        self._show(self._splitter.finish())
        is_whole = reason in (StopReason.END, StopReason.LENGTH, StopReason.CONTEXT_FULL)
        if is_whole:
            self._growing.end_thought(self._figures())
        calls = self._calls() if reason is StopReason.END else ()
        text, thoughts = self._growing.text, self._growing.thoughts
        return Reply(text.rstrip() if calls else text, self._statistics(reason), failure, thoughts, calls=calls)

    def _answer(self, text: str) -> None:
        if text and self._is_told_apart:
            self._growing.end_thought(self._figures())
            self._show([ReplyPart(text, PartKind.ANSWER)])
        elif text:
            self._show(self._splitter.feed(text))

    def _show(self, parts: list[ReplyPart]) -> None:
        for part in parts:
            if part.kind is PartKind.ANSWER:
                self._growing.say(part.text, self._figures())
            elif part.kind is PartKind.OPENING:
                self._growing.begin_thought()
            elif part.kind is PartKind.THOUGHT:
                self._growing.think(part.text, self._figures())
            elif part.kind is PartKind.CLOSING:
                self._growing.end_thought(self._figures())

    def _calls(self) -> tuple[ToolCall, ...]:
        tools = told_names(self._prepared.tools)
        found = []
        for _, call in sorted(self._deltas.calls.items()) if tools else ():
            if not call.name:
                continue
            tool = tools.get(call.name)
            server, name = ("", call.name) if tool is None else (tool.server, tool.name)
            found.append(ToolCall(new_call_id(), server, name, "".join(call.arguments) or "{}"))
        return tuple(found)

    def _note_speed(self) -> None:
        """Only where the server tells how many tokens it has written."""
        written = self._deltas.counts.reply
        if not written:
            return
        if self._speed is None:
            self._speed = ReplySpeed(now(), written)
        else:
            self._speed.note(now(), written)

    def _figures(self) -> LiveFigures:
        counts, speed = self._deltas.counts, self._speed
        return LiveFigures(
            num_tokens=counts.reply,
            tokens_per_s=0.0 if speed is None else speed.now,
            mean_tokens_per_s=0.0 if speed is None else speed.mean,
            num_rounds=self._num_rounds,
            num_drafted=counts.drafted,
            num_accepted=counts.accepted,
            context_used=counts.prompt + counts.reply,
        )

    @property
    def _num_rounds(self) -> int:
        """Each pass of the server writes one token beside those that were guessed."""
        counts = self._deltas.counts
        return max(0, counts.reply - counts.accepted) if counts.tells_drafts else 0

    def _statistics(self, reason: StopReason) -> ReplyStatistics:
        counts = self._deltas.counts
        first = now() if self._first_at is None else self._first_at
        drafted = ProposerCounts(SERVER.key, self._num_rounds, counts.drafted, counts.accepted)
        return ReplyStatistics(
            prompt_tokens=counts.prompt,
            evaluated_tokens=counts.evaluated or counts.prompt,
            reply_tokens=counts.reply,
            prompt_s=first - self._asked_at,
            reply_s=max(0.0, self._last_at - first),
            stop_reason=reason,
            context_used=counts.prompt + counts.reply,
            context_size=self._model.context_size,
            left_out_messages=self.num_left_out,
            num_rounds=self._num_rounds,
            num_drafted=counts.drafted,
            num_accepted=counts.accepted,
            kind=text_kind(self._growing.text),
            proposers=(drafted,) if counts.drafted else (),
            ratio=counts.ratio,
        )
