"""Replies in the form of Anthropic's messages."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from typing import Any

from engine.backend.server.figures import num_cached, num_written, timings_of
from engine.backend.server.refusals import RequestRefused
from engine.backend.server.streams import event, runs_of
from engine.values.asked import Answered
from engine.values.growing_reply import Piece, ReplySoFar
from engine.values.replies import StopReason, joined_thoughts
from engine.values.tools import ToolCall

_REASONS = {
    StopReason.END: "end_turn",
    StopReason.STOP_STRING: "stop_sequence",
    StopReason.LENGTH: "max_tokens",
    StopReason.CONTEXT_FULL: "model_context_window_exceeded",
}


class MessageForm:
    """Implements `server.streams.Form`, for one reply."""

    def __init__(self, model: str, is_parallel: bool, stops: Sequence[str] = ()) -> None:
        self._about = {"id": f"msg_{secrets.token_hex(12)}", "type": "message", "role": "assistant", "model": model}
        self._is_parallel = is_parallel
        self._stops = stops
        self._block = -1  # number of the one that is open, or was last
        self._open = ""  # its type; empty: none is

    def begin(self, number: int, num_prompt_tokens: int) -> Sequence[bytes]:  # noqa: ARG002
        usage = {"input_tokens": num_prompt_tokens, "output_tokens": 0}
        empty: dict[str, Any] = {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return (_event("message_start", message=self._about | empty),)

    def add(self, number: int, pieces: Sequence[Piece]) -> Sequence[bytes]:  # noqa: ARG002
        events: list[bytes] = []
        for is_text, text in runs_of(pieces):
            if is_text:
                events += self._in("text", {"text": ""})
                events.append(self._delta({"type": "text_delta", "text": text}))
            else:
                events += self._in("thinking", {"thinking": "", "signature": ""})
                events.append(self._delta({"type": "thinking_delta", "thinking": text}))
        return events

    def finish(self, number: int, ended: Answered) -> Sequence[bytes]:  # noqa: ARG002
        events: list[bytes] = []
        calls = self._calls(ended)
        for call in calls:
            events += self._in("tool_use", {"id": _id(call), "name": call.tool, "input": {}}, anew=True)
            events.append(self._delta({"type": "input_json_delta", "partial_json": json.dumps(_input(call))}))
        events += self._closed()
        delta = self._ended(ended, calls)
        events.append(_event("message_delta", delta=delta, usage=_usage(ended), timings=timings_of(ended)))
        return events

    def end(self) -> Sequence[bytes]:
        return (_event("message_stop"),)

    def fail(self, refusal: RequestRefused) -> Sequence[bytes]:
        return (event(refusal.as_anthropic(), "error"),)

    def whole(self, replies: Sequence[tuple[ReplySoFar, Answered]]) -> dict[str, Any]:
        end = replies[0][1]
        calls = self._calls(end)
        content: list[dict[str, Any]] = []
        if end.thoughts:
            content.append({"type": "thinking", "thinking": joined_thoughts(end.thoughts), "signature": ""})
        if end.text or not calls:
            content.append({"type": "text", "text": end.text})
        content += [{"type": "tool_use", "id": _id(each), "name": each.tool, "input": _input(each)} for each in calls]
        return (
            self._about
            | {"content": content}
            | self._ended(end, calls)
            | {"usage": _usage(end), "timings": timings_of(end)}
        )

    def _ended(self, ended: Answered, calls: Sequence[object]) -> dict[str, str | None]:
        reason = "tool_use" if calls else _REASONS.get(ended.statistics.stop_reason, "end_turn")
        is_known = reason == "stop_sequence" and len(self._stops) == 1
        return {"stop_reason": reason, "stop_sequence": self._stops[0] if is_known else None}

    def _calls(self, ended: Answered) -> Sequence[ToolCall]:
        return ended.calls if self._is_parallel else ended.calls[:1]

    def _in(self, kind: str, empty: dict[str, Any], anew: bool = False) -> Sequence[bytes]:
        """Begins a block of this type, unless one is open."""
        if self._open == kind and not anew:
            return ()
        closing = self._closed()
        self._block += 1
        self._open = kind
        block = {"type": kind, **empty}
        return *closing, _event("content_block_start", index=self._block, content_block=block)

    def _closed(self) -> Sequence[bytes]:
        if not self._open:
            return ()
        self._open = ""
        return (_event("content_block_stop", index=self._block),)

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("content_block_delta", index=self._block, delta=delta)


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


def _id(call: ToolCall) -> str:
    return f"toolu_{call.id}"


def _input(call: ToolCall) -> dict[str, Any]:
    try:
        found = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _usage(ended: Answered) -> dict[str, int]:
    """Token counts; prompt tokens that were read before are counted separately."""
    cached = num_cached(ended)
    return {
        "input_tokens": ended.statistics.prompt_tokens - cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": num_written(ended),
    }
