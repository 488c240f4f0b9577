"""How calls of tools, and what came of them, stand in the store: as JSON. Anything else in a column counts as none."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from sqlalchemy import Dialect, Text, TypeDecorator

from engine.messages.tools import Outcome, ToolCall, ToolResult

Calls = tuple[ToolCall, ...]
_UNSTORED = (TypeError, ValueError, OverflowError, RecursionError)  # SQLite holds any kind of value in any column


class ToolCalls(TypeDecorator[Calls]):
    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Calls | None, dialect: Dialect) -> str:  # noqa: ARG002
        return _json([_fields(each) for each in value or ()])

    def process_result_value(self, value: str | None, dialect: Dialect) -> Calls:  # noqa: ARG002
        return calls_from(value)


class ToolResults(TypeDecorator[ToolResult]):
    impl = Text
    cache_ok = True

    def process_bind_param(self, value: ToolResult | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        if value is None:
            return None
        return _json([_fields(value.call), value.outcome.value, value.seconds, value.num_left_out])

    def process_result_value(self, value: str | None, dialect: Dialect) -> ToolResult | None:  # noqa: ARG002
        return result_from(value)


def calls_from(stored: object) -> Calls:
    """Reads what `ToolCalls` wrote; nothing of what it cannot have written."""
    if stored in ("[]", None, b"[]"):
        return ()
    try:
        return tuple(map(_call, json.loads(stored)))  # type: ignore[arg-type]
    except _UNSTORED:
        return ()


def result_from(stored: object) -> ToolResult | None:
    """Reads what `ToolResults` wrote."""
    if stored is None:
        return None
    try:
        call, outcome, seconds, num_left_out = json.loads(stored)  # type: ignore[arg-type]
        if not isfinite(seconds):
            return None
        return ToolResult(_call(call), Outcome(outcome), round(abs(seconds), 3), abs(int(num_left_out)))
    except _UNSTORED:
        return None


def _fields(call: ToolCall) -> list[str]:
    return [call.id, call.server, call.tool, call.arguments]


def _call(fields: Any) -> ToolCall:
    number, server, tool, arguments = map(str, fields)
    return ToolCall(number, server, tool, arguments)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace").decode()
