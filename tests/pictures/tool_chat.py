"""A made-up chat with calls of tools."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from engine.values.conversations import Message, Role
from engine.values.replies import ReplyStatistics, StopReason
from engine.values.tools import Outcome, Tool, ToolCall, ToolResult

_AT = datetime(2026, 5, 2, 9, 30, tzinfo=UTC)
_STATISTICS = ReplyStatistics(412, 38, 46, 0.31, 1.5, StopReason.END, 1204, 8192)
_NOTES = "# Garden\n\n- Tomatoes: out after the 15th of May, if the nights stay above 8 °C.\n- Beans: two weeks later."
_FORECAST = '{"place": "Kendal", "days": [{"high": 14, "low": 6, "rain": true}, {"high": 16, "low": 7, "rain": false}]}'
WRITE = Tool("files", "write_file", "Create a new file, or replace one with new contents.")
_CALLS = (
    ToolCall("made00001", "weather", "forecast", '{"place": "Kendal", "days": 2}'),
    ToolCall("made00002", "files", "read_text_file", '{"path": "/home/robin/notes/garden.md"}'),
)
_TO_WRITE = {"path": "/home/robin/notes/today.md", "content": "Tomatoes: wait until the nights are warmer."}


def _said(number: int, text: str, *calls: ToolCall) -> Message:
    statistics, parent = _STATISTICS, number - 1 or None
    return Message(number, 1, parent, Role.ASSISTANT, text, _AT, "Qwen2.5-7B-Instruct", statistics, calls=calls)


def _came(number: int, call: ToolCall, text: str, seconds: float) -> Message:
    result = ToolResult(call, Outcome.DONE, seconds)
    return Message(number, 1, number - 1, Role.TOOL, text, _AT, result=result)


TOOL_CHAT = (
    Message(1, 1, None, Role.USER, "Can the tomatoes go out this week? My notes say when.", _AT),
    _said(2, "Let me look at the forecast and at your notes.", *_CALLS),
    _came(3, _CALLS[0], _FORECAST, 0.8),
    _came(4, _CALLS[1], _NOTES, 0.04),
    _said(
        5,
        "Not yet. Your notes ask for nights above **8 °C**, and the next two will be at 6 and 7 °C. "
        "The weekend looks better.",
    ),
    Message(6, 1, 5, Role.USER, "Then note that for today.", _AT),
)
ASKING = _said(7, "", ToolCall("made00003", "files", "write_file", json.dumps(_TO_WRITE)))
