"""Replies that the target wrote to stored prompts again, to be learned from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "practice",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("vocabulary_id", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.LargeBinary(), nullable=False),
        sa.Column("law_tokens", sa.LargeBinary(), nullable=False),
        sa.Column("law_logs", sa.LargeBinary(), nullable=False),
        sa.Column("system_prompt", sa.Text(), nullable=False),
        sa.Column("temperature", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name="fk_practice_message_id_messages", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["vocabulary_id"], ["vocabularies.id"], name="fk_practice_vocabulary_id_vocabularies", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_practice"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_practice_message_id", "practice", ["message_id"])
    op.create_index("ix_practice_vocabulary_id", "practice", ["vocabulary_id"])
