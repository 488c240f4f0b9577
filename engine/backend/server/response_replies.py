"""Replies in the form of OpenAI's Responses interface."""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from engine.backend.server.figures import timings_of, usage_of
from engine.backend.server.refusals import RequestRefused, invalid
from engine.backend.server.response_requests import INPUT, ResponsesRequest, takes_any_text
from engine.backend.server.streams import created, event, runs_of
from engine.values.asked import Answered
from engine.values.conversations import ChatTurn, Role
from engine.values.growing_reply import Piece, ReplySoFar
from engine.values.owner import Owner
from engine.values.replies import StopReason, joined_thoughts
from engine.values.tools import ToolCall

_CUT = {StopReason.LENGTH, StopReason.CONTEXT_FULL}
_MOST_KEPT, _MOST_KEPT_SIZE = 64, 8_000_000  # responses; letters, and bytes of pictures, of all of them
_EMPTY_TEXT: dict[str, Any] = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
_EMPTY_THOUGHT = {"type": "reasoning_text", "text": ""}


class KeptResponses:
    """The latest responses to programs that may be remembered, which their next requests go on from; in memory only."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, tuple[Owner, tuple[ChatTurn, ...]]] = OrderedDict()

    def turns(self, owner: Owner, name: str | None) -> tuple[ChatTurn, ...]:
        """Raises RequestRefused for a response that is not kept, or was another program's."""
        if name is None:
            return ()
        whose, turns = self._turns.get(name, (None, ()))
        if whose != owner:
            raise invalid(
                "This response is not kept here; send the whole conversation as input.", "previous_response_id"
            )
        return turns

    def keep(self, owner: Owner, name: str, turns: Sequence[ChatTurn]) -> None:
        self._turns[name] = owner, tuple(turns)
        while len(self._turns) > _MOST_KEPT or self._size > _MOST_KEPT_SIZE:
            self._turns.popitem(last=False)

    @property
    def _size(self) -> int:
        return sum(_size_of(turn) for _, turns in self._turns.values() for turn in turns)


class ResponseForm:
    """Implements `server.streams.Form`, for one reply."""

    def __init__(
        self, model: str, request: ResponsesRequest, is_parallel: bool, keep: Callable[[str, ChatTurn], None] | None
    ) -> None:
        """`keep` is told the response's id and what was replied; None: nothing is kept."""
        self._id = f"resp_{secrets.token_hex(16)}"
        self._is_parallel = is_parallel
        self._keep = keep
        self._texts_of = takes_any_text(request)
        self._numbers = count()
        self._output: list[dict[str, Any]] = []  # items that are whole
        self._open: dict[str, Any] | None = None
        asked = request.model_dump(
            exclude_none=True, include={"instructions", "max_output_tokens", "previous_response_id", "tools", "text"}
        )
        self._about: dict[str, Any] = {
            "id": self._id,
            "object": "response",
            "created_at": created(),
            "model": model,
            "instructions": None,
            "max_output_tokens": None,
            "previous_response_id": None,
            "tools": [],
            "text": {"format": {"type": "text"}},
            **asked,
            "tool_choice": request.tool_choice if isinstance(request.tool_choice, str) else "auto",
            "parallel_tool_calls": is_parallel,
            "reasoning": {"effort": None if request.reasoning is None else request.reasoning.effort, "summary": None},
            "temperature": request.temperature,
            "top_p": request.top_p,
            "truncation": "disabled",
            "metadata": {},
            "store": keep is not None,
            "error": None,
            "incomplete_details": None,
        }

    def begin(self, number: int, num_prompt_tokens: int) -> Sequence[bytes]:  # noqa: ARG002
        told = {**self._about, "status": "in_progress", "output": [], "usage": None}
        return [self._event(f"response.{kind}", response=told) for kind in ("created", "in_progress")]

    def add(self, number: int, pieces: Sequence[Piece]) -> Sequence[bytes]:  # noqa: ARG002
        events: list[bytes] = []
        for is_text, text in runs_of(pieces):
            if is_text:
                events += self._begun("message")
                events.append(self._of_part("output_text.delta", delta=text, logprobs=[]))
            else:
                events += self._begun("reasoning")
                events.append(self._of_part("reasoning_text.delta", delta=text))
            self._part["text"] += text
        return events

    def finish(self, number: int, ended: Answered) -> Sequence[bytes]:  # noqa: ARG002
        events = [*self._closed()]
        for call in self._calls(ended):
            item = self._call(call)
            key = "input" if item["type"] == "custom_tool_call" else "arguments"
            kind = "custom_tool_call_input" if key == "input" else "function_call_arguments"
            about = {"item_id": item["id"], "output_index": len(self._output)}
            begun = item | {key: "", "status": "in_progress"}
            events.append(self._event("response.output_item.added", output_index=len(self._output), item=begun))
            events.append(self._event(f"response.{kind}.delta", **about, delta=item[key]))
            events.append(self._event(f"response.{kind}.done", **about, name=item["name"], **{key: item[key]}))
            events.append(self._event("response.output_item.done", output_index=len(self._output), item=item))
            self._output.append(item)
        told = self._whole(ended, self._output)
        return [*events, self._event(f"response.{told['status']}", response=told)]

    def end(self) -> Sequence[bytes]:
        return ()

    def fail(self, refusal: RequestRefused) -> Sequence[bytes]:
        error = {"code": refusal.code or "server_error", "message": refusal.sentence}
        told = {**self._about, "status": "failed", "error": error, "output": self._output, "usage": None}
        return (self._event("response.failed", response=told),)

    def whole(self, replies: Sequence[tuple[ReplySoFar, Answered]]) -> dict[str, Any]:
        ended = replies[0][1]
        output: list[dict[str, Any]] = []
        if ended.thoughts:
            output.append(_item("reasoning", _EMPTY_THOUGHT | {"text": joined_thoughts(ended.thoughts)}))
        calls = self._calls(ended)
        if ended.text or not calls:
            output.append(_item("message", _EMPTY_TEXT | {"text": ended.text}))
        return self._whole(ended, [*output, *map(self._call, calls)])

    def _whole(self, ended: Answered, output: Sequence[dict[str, Any]]) -> dict[str, Any]:
        if self._keep is not None:
            calls = tuple(self._calls(ended))
            self._keep(self._id, ChatTurn(Role.ASSISTANT, ended.text, joined_thoughts(ended.thoughts), calls=calls))
        is_cut = ended.statistics.stop_reason in _CUT
        usage = usage_of([ended])
        return self._about | {
            "status": "incomplete" if is_cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "output": [*output],
            "usage": {
                "input_tokens": usage["prompt_tokens"],
                "input_tokens_details": usage["prompt_tokens_details"],
                "output_tokens": usage["completion_tokens"],
                "output_tokens_details": usage["completion_tokens_details"],
                "total_tokens": usage["total_tokens"],
            },
            "timings": timings_of(ended),
        }

    def _calls(self, ended: Answered) -> Sequence[ToolCall]:
        calls = ended.calls if self._is_parallel else ended.calls[:1]
        return [replace(each, id=f"call_{each.id}") for each in calls]

    def _call(self, call: ToolCall) -> dict[str, Any]:
        about = {"id": f"fc_{secrets.token_hex(16)}", "call_id": call.id, "name": call.tool, "status": "completed"}
        if call.tool in self._texts_of:
            return {"type": "custom_tool_call", **about, "input": _text_in(call.arguments)}
        return {"type": "function_call", **about, "arguments": call.arguments}

    @property
    def _part(self) -> dict[str, Any]:
        """The one part of the item that is open."""
        assert self._open is not None
        part: dict[str, Any] = self._open["content"][0]
        return part

    def _begun(self, kind: str) -> Sequence[bytes]:
        """Begins an item of this type, unless one is open."""
        if self._open is not None and self._open["type"] == kind:
            return ()
        closing = self._closed()
        empty = _EMPTY_TEXT if kind == "message" else _EMPTY_THOUGHT
        self._open = _item(kind, dict(empty))
        begun = self._open | {"status": "in_progress", "content": []}
        added = self._event("response.output_item.added", output_index=len(self._output), item=begun)
        return [*closing, added, self._of_part("content_part.added", part=empty)]

    def _closed(self) -> Sequence[bytes]:
        if self._open is None:
            return ()
        is_message = self._open["type"] == "message"
        kind, more = ("output_text", dict[str, Any](logprobs=[])) if is_message else ("reasoning_text", {})
        events = [
            self._of_part(f"{kind}.done", text=self._part["text"], **more),
            self._of_part("content_part.done", part=self._part),
            self._event("response.output_item.done", output_index=len(self._output), item=self._open),
        ]
        self._output.append(self._open)
        self._open = None
        return events

    def _of_part(self, kind: str, **fields: Any) -> bytes:
        assert self._open is not None
        about = {"item_id": self._open["id"], "output_index": len(self._output), "content_index": 0}
        return self._event(f"response.{kind}", **about, **fields)

    def _event(self, kind: str, **fields: Any) -> bytes:
        return event({"type": kind, "sequence_number": next(self._numbers), **fields}, kind)


def _size_of(turn: ChatTurn) -> int:
    said = len(turn.text) + len(turn.thought) + sum(len(each.arguments) for each in turn.calls)
    return said + sum(len(each.data) for each in turn.pictures)


def _item(kind: str, part: dict[str, Any]) -> dict[str, Any]:
    """A whole one."""
    if kind == "message":
        about: dict[str, Any] = {"id": f"msg_{secrets.token_hex(16)}", "type": kind, "role": "assistant"}
    else:
        about = {"id": f"rs_{secrets.token_hex(16)}", "type": kind, "summary": []}
    return about | {"status": "completed", "content": [part]}


def _text_in(arguments: str) -> str:
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    told = found.get(INPUT) if isinstance(found, dict) else None
    return told if isinstance(told, str) else arguments
