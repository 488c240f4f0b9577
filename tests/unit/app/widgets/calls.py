"""Answers with calls, to show in tests."""

from __future__ import annotations

from dataclasses import replace

from engine.values.conversations import Message, Role
from engine.values.tools import Outcome, Tool, ToolCall, ToolResult
from tests.unit.app.widgets.messages import prompt, reply

FORECAST = Tool("weather", "forecast", "The weather of a city.")


def call(number: int, arguments: str = '{"city": "Paris"}') -> ToolCall:
    return ToolCall(f"call{number:05}", "weather", "forecast", arguments)


def calling(number: int, parent: int, *calls: ToolCall, text: str = "Let me look.") -> Message:
    return replace(reply(number), text=text, parent_id=parent, calls=calls)


def result(
    number: int, parent: int, of: ToolCall, text: str = "Rain in Paris.", outcome: Outcome = Outcome.DONE
) -> Message:
    message = replace(prompt(number, text), role=Role.TOOL, parent_id=parent)
    return replace(message, result=ToolResult(of, outcome, 0.8))


def last(number: int, parent: int, text: str = "Take an umbrella.") -> Message:
    return replace(reply(number, text), parent_id=parent)


def conversation() -> tuple[Message, ...]:
    """A prompt, and an answer with two calls."""
    return (
        prompt(1, "Will it rain?"),
        calling(2, 1, call(1), call(2, '{"city": "London"}')),
        result(3, 2, call(1)),
        result(4, 3, call(2), "You refused.", Outcome.REFUSED),
        last(5, 4),
    )
