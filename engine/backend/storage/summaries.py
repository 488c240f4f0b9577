"""Conversations as lists show them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, select

from engine.backend.storage.schema import ConversationRow, MessageRow
from engine.backend.storage.transactions import is_incognito
from engine.values.conversations import ConversationSummary, Role

POSSIBLE_IDS = range(1, 2**63)
LATEST_TARGET = (
    select(MessageRow.target_name)
    .where(MessageRow.conversation_id == ConversationRow.id, MessageRow.role == Role.ASSISTANT)
    .order_by(MessageRow.id.desc())
    .limit(1)
    .scalar_subquery()
    .label("latest_target")
)
SUMMARIES = select(
    ConversationRow.id,
    ConversationRow.title,
    ConversationRow.updated_at,
    ConversationRow.folder_id,
    ConversationRow.pinned_at,
    ConversationRow.archived_at,
    LATEST_TARGET,
)


def summary_of(row: Row[Any]) -> ConversationSummary:
    """Takes a row with the columns of `SUMMARIES`, and perhaps others."""
    return ConversationSummary(
        row.id,
        row.title,
        row.updated_at,
        is_incognito(row.id),
        row.folder_id,
        row.pinned_at is not None,
        row.archived_at is not None,
        row.latest_target or "",
    )
