"""The scores of replies, from before they were learned from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "scores",
        sa.Column("vocabulary_id", sa.Integer(), nullable=False),
        sa.Column("drafter_fingerprint", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("num_tokens", sa.Integer(), nullable=False),
        sa.Column("rounds_before", sa.Double(), nullable=False),
        sa.Column("rounds_after", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["vocabulary_id"], ["vocabularies.id"], name="fk_scores_vocabulary_id_vocabularies", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name="fk_scores_message_id_messages", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("vocabulary_id", "drafter_fingerprint", "message_id", name="pk_scores"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_scores_message_id", "scores", ["message_id"])
