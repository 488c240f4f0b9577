"""What a server says of a reply, event by event, as typed pieces. Nothing it sends is trusted: what has another type,
or is out of all bounds, counts as not sent, and what no reply can be ends it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from engine.backend.remote.connection import Streamed, event_data, parsed
from engine.backend.remote.failures import reason_of, too_much, unreadable
from engine.values.errors import RemoteFailed

_DONE = b"[DONE]"
_MOST_LINES = 1_000  # of the data of one event
_MOST_TEXT = 8_000_000  # characters of a reply, and of its thoughts and calls
_MOST_CALLS = 64
_MOST_COUNTED = 10**9  # tokens; no server counts more
_MOST_RATIO = 100.0


class EndReason(Enum):
    """Why a server has ended a reply."""

    STOP = auto()
    LENGTH = auto()
    CALLS = auto()
    FILTERED = auto()


_ENDINGS = {
    "stop": EndReason.STOP,
    "eos": EndReason.STOP,
    "length": EndReason.LENGTH,
    "tool_calls": EndReason.CALLS,
    "function_call": EndReason.CALLS,
    "content_filter": EndReason.FILTERED,
}


@dataclass(frozen=True, slots=True)
class Counts:
    """Tokens, as the server counts them; 0: not reported."""

    prompt: int = 0
    evaluated: int = 0  # of the prompt, for this reply
    reply: int = 0
    drafted: int = 0
    accepted: int = 0
    ratio: float = 0.0  # to plain decoding, as the server itself has found it
    tells_drafts: bool = False

    def over(self, before: Counts) -> Counts:
        """These counts, filled up with earlier ones."""
        return Counts(
            self.prompt or before.prompt,
            self.evaluated or before.evaluated,
            self.reply or before.reply,
            self.drafted or before.drafted,
            self.accepted or before.accepted,
            self.ratio or before.ratio,
            self.tells_drafts or before.tells_drafts,
        )


@dataclass(slots=True)
class GrowingCall:
    name: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Delta:
    """What one event adds."""

    text: str = ""
    thought: str = ""
    call: str = ""  # as a user may watch it


class Deltas:
    """Reads one reply. `ending` is None until the server reports it; a reply without one is incomplete."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._num_left = _MOST_TEXT
        self.calls: dict[int, GrowingCall] = {}  # by their number in the reply
        self.counts = Counts()
        self.ending: EndReason | None = None
        self.is_done = False  # the server has said that nothing follows

    def read(self, streamed: Streamed) -> Iterator[Delta]:
        """Raises RemoteFailed, and Stopped."""
        if not streamed.is_stream:  # it does not stream, and tells the whole reply at once
            found = parsed(b"\n".join(streamed.lines))
            yield self._taken(found)
            return
        for data in event_data(streamed.lines, _MOST_LINES, self._host):
            if data.strip() == _DONE:
                self.is_done = True
                return
            yield self._taken(parsed(data))

    def _taken(self, found: Any) -> Delta:
        if not isinstance(found, dict):
            raise unreadable(self._host)
        if found.get("error"):
            raise self._failed(found["error"])
        self.counts = _counts(found).over(self.counts)
        choices = found.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return Delta()
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.ending = _ENDINGS.get(reason.lower(), EndReason.STOP)
        told = choice.get("delta") or choice.get("message")
        if not isinstance(told, dict):
            return Delta()
        thought = _text(told.get("reasoning_content")) or _text(told.get("reasoning"))
        delta = Delta(_text(told.get("content")), thought, self._called(told.get("tool_calls")))
        self._num_left -= len(delta.text) + len(delta.thought) + len(delta.call)
        if self._num_left < 0:
            raise too_much(self._host)
        return delta

    def _called(self, told: Any) -> str:
        shown = ""
        for place, each in enumerate(told if isinstance(told, list) else ()):
            about = each.get("function") if isinstance(each, dict) else None
            if not isinstance(about, dict):
                continue
            number = each.get("index")
            number = number if isinstance(number, int) else place
            if number not in self.calls and len(self.calls) >= _MOST_CALLS:
                raise too_much(self._host)
            call = self.calls.setdefault(number, GrowingCall())
            name, arguments = about.get("name"), about.get("arguments")
            if isinstance(name, str) and not call.name:
                call.name = name[:200]
                shown += f"{call.name} "
            if isinstance(arguments, str) and arguments:
                call.arguments.append(arguments)
                shown += arguments
        return shown

    def _failed(self, error: Any) -> RemoteFailed:
        reason = reason_of(error.get("message", "") if isinstance(error, dict) else error)
        return RemoteFailed("{host} ended the reply: “{reason}” What arrived is kept.", host=self._host, reason=reason)


def _text(value: Any) -> str:
    """A text, or the texts among its parts."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else ()
    return "".join(each["text"] for each in parts if isinstance(each, dict) and isinstance(each.get("text"), str))


def _counts(found: dict[str, Any]) -> Counts:
    usage, timings = _object(found.get("usage")), _object(found.get("timings"))
    cached, evaluated = _count(timings.get("cache_n")), _count(timings.get("prompt_n"))
    speedup = timings.get("speedup")
    ratio = speedup if isinstance(speedup, float) and 1 / _MOST_RATIO < speedup < _MOST_RATIO else 0.0
    drafted = _count(timings.get("draft_n"))
    return Counts(
        prompt=_count(usage.get("prompt_tokens")) or cached + evaluated,
        evaluated=evaluated,
        reply=_count(usage.get("completion_tokens")) or _count(timings.get("predicted_n")),
        drafted=drafted,
        accepted=min(drafted, _count(timings.get("draft_n_accepted"))),
        ratio=ratio if drafted else 0.0,
        tells_drafts="draft_n" in timings,
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_COUNTED
    return value if is_count else 0
