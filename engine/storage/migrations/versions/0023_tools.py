"""Calls of tools, their results, and which of them are not asked for any more."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.add_column("messages", sa.Column("calls", sa.Text(), nullable=False, server_default=sa.text("'[]'")))
    op.add_column("messages", sa.Column("result", sa.Text(), nullable=True))
    op.create_table(
        "chat_tools",
        sa.Column("conversation_id", sa.Integer(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_chat_tools_conversation_id_conversations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("conversation_id", "identity", "tool", name=op.f("pk_chat_tools")),
    )
    op.create_table(
        "allowed_tools",
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("identity", "tool", name=op.f("pk_allowed_tools")),
    )
