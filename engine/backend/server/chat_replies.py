"""Replies in the form of OpenAI's chat completions."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from engine.backend.server.figures import timings_of, usage_of
from engine.backend.server.refusals import RequestRefused
from engine.backend.server.streams import created, event, fingerprint
from engine.values.asked import Answered
from engine.values.growing_reply import Piece, ReplySoFar, TextPiece
from engine.values.replies import StopReason, TokenLog, joined_thoughts
from engine.values.tools import ToolCall

FINISH = {
    StopReason.END: "stop",
    StopReason.STOP_STRING: "stop",
    StopReason.LENGTH: "length",
    StopReason.CONTEXT_FULL: "length",
    StopReason.STOPPED: "stop",
}
DONE = b"data: [DONE]\n\n"


class ChatForm:
    """Implements `server.streams.Form`."""

    def __init__(self, model: str, tells_usage: bool, with_logs: bool, is_parallel: bool) -> None:
        self._about = {
            "id": f"chatcmpl-{secrets.token_hex(12)}",
            "created": created(),
            "model": model,
            "system_fingerprint": fingerprint(),
        }
        self._tells_usage = tells_usage
        self._with_logs = with_logs
        self._is_parallel = is_parallel
        self._ended: list[Answered] = []

    def begin(self, number: int, num_prompt_tokens: int) -> Sequence[bytes]:  # noqa: ARG002
        return (self._chunk(number, {"role": "assistant", "content": ""}),)

    def add(self, number: int, pieces: Sequence[Piece]) -> Sequence[bytes]:
        events: list[bytes] = []
        text, thought, logs = "", "", list[TokenLog]()

        def flush() -> None:
            nonlocal text, thought, logs
            if thought:
                events.append(self._chunk(number, {"reasoning_content": thought}))
            if text or logs:
                events.append(self._chunk(number, {"content": text}, logs=logs))
            text, thought, logs = "", "", []

        for each in pieces:
            if isinstance(each, TextPiece):
                text += each.text
                logs += each.logs
                continue
            if text:
                flush()
            thought += each.text
        flush()
        return events

    def finish(self, number: int, ended: Answered) -> Sequence[bytes]:
        self._ended.append(ended)
        calls = self._calls(ended)
        chunks = [self._chunk(number, {"tool_calls": [{"index": place, **call}]}) for place, call in enumerate(calls)]
        return [*chunks, self._chunk(number, {}, finish=_finish(ended, calls), more={"timings": timings_of(ended)})]

    def end(self) -> Sequence[bytes]:
        if not self._tells_usage:
            return (DONE,)
        told = {"object": "chat.completion.chunk", **self._about, "choices": [], "usage": usage_of(self._ended)}
        return event(told | {"timings": timings_of(self._ended[-1])}), DONE

    def fail(self, refusal: RequestRefused) -> Sequence[bytes]:
        return event(refusal.as_openai()), DONE

    def whole(self, replies: Sequence[tuple[ReplySoFar, Answered]]) -> dict[str, Any]:
        choices = []
        for number, (so_far, end) in enumerate(replies):
            calls = self._calls(end)
            message: dict[str, Any] = {"role": "assistant", "content": end.text if end.text or not calls else None}
            if end.thoughts:
                message["reasoning_content"] = joined_thoughts(end.thoughts)
            if calls:
                message["tool_calls"] = calls
            logs = logs_in(so_far.since(0))
            choices.append(
                {
                    "index": number,
                    "message": message,
                    "logprobs": logs_of(logs) if self._with_logs else None,
                    "finish_reason": _finish(end, calls),
                }
            )
        return {
            "object": "chat.completion",
            **self._about,
            "choices": choices,
            "usage": usage_of([end for _, end in replies]),
            "timings": timings_of(replies[-1][1]),
        }

    def _calls(self, ended: Answered) -> list[dict[str, Any]]:
        calls = ended.calls if self._is_parallel else ended.calls[:1]
        return [_call(each) for each in calls]

    def _chunk(
        self,
        number: int,
        delta: dict[str, Any],
        logs: Sequence[TokenLog] = (),
        finish: str | None = None,
        more: dict[str, Any] | None = None,
    ) -> bytes:
        choice: dict[str, Any] = {"index": number, "delta": delta, "finish_reason": finish}
        if self._with_logs:
            choice["logprobs"] = logs_of(logs) if logs else None
        told = {"object": "chat.completion.chunk", **self._about, "choices": [choice], **(more or {})}
        if self._tells_usage:
            told["usage"] = None
        return event(told)


def _call(call: ToolCall) -> dict[str, Any]:
    about = {"name": call.tool, "arguments": call.arguments}
    return {"id": f"call_{call.id}", "type": "function", "function": about}


def _finish(ended: Answered, calls: Sequence[object]) -> str:
    return "tool_calls" if calls else FINISH.get(ended.statistics.stop_reason, "stop")


def logs_of(logs: Sequence[TokenLog]) -> dict[str, Any]:
    return {
        "content": [
            _log(each.piece, each.log) | {"top_logprobs": [_log(piece, log) for piece, log in each.beside]}
            for each in logs
        ],
        "refusal": None,
    }


def _log(piece: bytes, log: float) -> dict[str, Any]:
    return {"token": piece.decode("utf-8", "replace"), "logprob": log, "bytes": [*piece]}


def logs_in(pieces: Sequence[Piece]) -> list[TokenLog]:
    return [log for each in pieces if isinstance(each, TextPiece) for log in each.logs]
