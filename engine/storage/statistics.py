"""How the targets wrote, over all replies that are kept; the repository opens the transactions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields

from sqlalchemy import Connection, select

from engine.messages.learned import TargetStatistics
from engine.messages.replies import ReplyStatistics
from engine.storage.schema import ConversationRow, MessageRow, ReplyStatisticsRow

_REPLIES = (
    select(MessageRow.target_name, *(getattr(ReplyStatisticsRow, field.name) for field in fields(ReplyStatistics)))
    .join(ReplyStatisticsRow, ReplyStatisticsRow.message_id == MessageRow.id)
    .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
    .where(ConversationRow.deleted_at.is_(None), MessageRow.target_name.is_not(None))
)


def read_statistics(connection: Connection) -> tuple[TargetStatistics, ...]:
    """By name, without replies of deleted conversations."""
    by_name: dict[str, list[ReplyStatistics]] = defaultdict(list)
    for name, *numbers in connection.execute(_REPLIES):
        by_name[name].append(ReplyStatistics(*numbers))
    return tuple(_summary(name, by_name[name]) for name in sorted(by_name))


def _summary(name: str, replies: list[ReplyStatistics]) -> TargetStatistics:
    num_rounds = sum(reply.num_rounds for reply in replies)
    compared = [(reply.speedup, reply.reply_s) for reply in replies if reply.speedup is not None]
    compared_s = sum(seconds for _, seconds in compared)
    return TargetStatistics(
        name=name,
        num_replies=len(replies),
        num_tokens=sum(reply.reply_tokens for reply in replies),
        seconds=sum(reply.reply_s for reply in replies),
        tokens_per_round=sum(reply.num_accepted for reply in replies) / num_rounds + 1 if num_rounds else 0.0,
        speedup=sum(speedup * seconds for speedup, seconds in compared) / compared_s if compared_s else None,
    )
