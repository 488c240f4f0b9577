"""What is allowed is a tool as it was defined then. What was allowed before, whatever it was, is asked for again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.drop_table("chat_tools")
    op.drop_table("allowed_tools")
    op.create_table(
        "chat_tools",
        sa.Column("conversation_id", sa.Integer(), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_chat_tools_conversation_id_conversations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("conversation_id", "server", "tool", name=op.f("pk_chat_tools")),
    )
    op.create_table(
        "allowed_tools",
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("server", "tool", name=op.f("pk_allowed_tools")),
    )
