"""Messages to show in tests."""

from __future__ import annotations

from datetime import UTC, datetime

from engine.values.conversations import Message, Role
from engine.values.replies import ReplyStatistics, StopReason

STATISTICS = ReplyStatistics(412, 38, 214, 0.31, 6.9, StopReason.STOPPED, 1204, 8192)


def prompt(number: int, text: str = "") -> Message:
    return Message(number, 1, None, Role.USER, text or f"Prompt {number}", datetime.now(UTC))


def reply(number: int, text: str = "") -> Message:
    return Message(
        number, 1, None, Role.ASSISTANT, text or f"Reply **{number}**", datetime.now(UTC), "SmolLM2", STATISTICS
    )


def conversation(num_messages: int) -> tuple[Message, ...]:
    """Replies of very different heights, which no estimate meets."""
    return tuple(
        reply(number, f"Reply {number}\n\n" + "- item\n" * (number * 7 % 40) + "```py\nx = 1\n```\n" * (number % 3))
        if number % 2
        else prompt(number)
        for number in range(num_messages)
    )
