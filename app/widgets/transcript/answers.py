"""Answers: a reply, or several of them with the results of the calls between them, shown as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from engine.values.conversations import Message, Role
from engine.values.replies import ReplyStatistics, StopReason
from engine.values.tools import ToolCall

Siblings = Mapping[int, Sequence[int]]  # ids of all versions of a message, by its id, where there are others
NO_SIBLINGS: Siblings = {}


def is_joined(before: Message, message: Message) -> bool:
    """True if the message continues the answer that ends with the one before."""
    return message.role is Role.TOOL or (message.role is Role.ASSISTANT and is_unfinished(before))


def is_unfinished(last: Message) -> bool:
    """True if an answer that ends with this message goes on: it ends with calls or their results."""
    return last.role is Role.TOOL or bool(last.calls)


def grouped(messages: Iterable[Message]) -> list[tuple[Message, ...]]:
    """Groups messages: each prompt alone, and all messages of an answer together."""
    groups: list[list[Message]] = []
    for message in messages:
        if groups and groups[-1][-1].role is not Role.USER and is_joined(groups[-1][-1], message):
            groups[-1].append(message)
        else:
            groups.append([message])
    return [tuple(group) for group in groups]


def unanswered(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Calls without a result at the end of the messages."""
    done: set[str] = set()
    for message in reversed(messages):
        if message.result is None:
            return tuple(each for each in message.calls if each.id not in done)
        done.add(message.result.call.id)
    return ()


def versions(messages: Sequence[Message], siblings: Siblings) -> tuple[tuple[int, ...], int]:
    """The ids of all versions of an answer, and of the shown one. A rewritten part stands in place of the part that it
    began with."""
    found: list[int] = [messages[0].id]
    shown = messages[0].id
    for message in messages:
        others = [*siblings.get(message.id, ())]
        if len(others) > 1:
            place = found.index(shown)
            found[place : place + 1] = others
            shown = message.id
    return (tuple(found) if len(found) > 1 else ()), shown


def joined(messages: Sequence[Message]) -> Message:
    """The answer as one message: its last reply, with the texts and figures of all. Without a reply, its first
    message."""
    replies = [each for each in messages if each.role is not Role.TOOL]
    if not replies:
        return messages[0]
    last = replies[-1]
    statistics = _summed([each.statistics for each in replies if each.statistics is not None])
    if statistics is not None and is_unfinished(messages[-1]):
        statistics = replace(statistics, stop_reason=StopReason.STOPPED)
    if len(replies) == 1:
        return replace(last, statistics=statistics)
    text = "\n\n".join(each.text.strip("\n") for each in replies if each.text.strip())
    return replace(
        last, text=text, thoughts=tuple(each for reply in replies for each in reply.thoughts), statistics=statistics
    )


def _summed(parts: Sequence[ReplyStatistics]) -> ReplyStatistics | None:
    """Figures of the whole answer; those of the context are of its last part."""
    if len(parts) < 2:
        return parts[0] if parts else None
    last = parts[-1]
    tokens = sum(each.reply_tokens for each in parts)
    ratios = sum(each.reply_tokens / each.ratio for each in parts if each.ratio)
    plain_s = sum(each.reply_tokens / each.plain_tokens_per_s for each in parts if each.plain_tokens_per_s)
    return replace(
        last,
        reply_tokens=tokens,
        reply_s=sum(each.reply_s for each in parts),
        num_rounds=sum(each.num_rounds for each in parts),
        num_drafted=sum(each.num_drafted for each in parts),
        num_accepted=sum(each.num_accepted for each in parts),
        draft_s=sum(each.draft_s for each in parts),
        check_s=sum(each.check_s for each in parts),
        ratio=tokens / ratios if ratios and all(each.ratio for each in parts) else 0.0,
        plain_tokens_per_s=tokens / plain_s if plain_s and all(each.plain_tokens_per_s for each in parts) else 0.0,
        plain_error=max(each.plain_error for each in parts),
        origins=tuple(run for each in parts for run in each.origins),
        seed=last.seed if len({each.seed for each in parts}) == 1 else "",
    )
