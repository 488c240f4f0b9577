"""What a drafter learns from, what it has learned, and texts to recall that came with a profile."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "imported_recall",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("vocabulary_id", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["vocabulary_id"],
            ["vocabularies.id"],
            name="fk_imported_recall_vocabulary_id_vocabularies",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_imported_recall"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_imported_recall_vocabulary_id", "imported_recall", ["vocabulary_id"], unique=False)
    op.create_table(
        "lessons",
        sa.Column("vocabulary_id", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.LargeBinary(), nullable=False),
        sa.Column("law_tokens", sa.LargeBinary(), nullable=False),
        sa.Column("law_logs", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name="fk_lessons_message_id_messages", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["vocabulary_id"], ["vocabularies.id"], name="fk_lessons_vocabulary_id_vocabularies", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("vocabulary_id", "message_id", name="pk_lessons"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_lessons_message_id", "lessons", ["message_id"], unique=False)
    op.create_table(
        "adapters",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("target_fingerprint", sa.Text(), nullable=False),
        sa.Column("drafter_fingerprint", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("accepted_before", sa.Double(), nullable=False),
        sa.Column("accepted_after", sa.Double(), nullable=False),
        sa.Column("num_replies", sa.Integer(), nullable=False),
        sa.Column("num_learned", sa.Integer(), nullable=False),
        sa.Column("is_published", sa.Boolean(), nullable=False),
        sa.Column("weights", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_adapters"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_adapters_target_fingerprint", "adapters", ["target_fingerprint", "drafter_fingerprint"], unique=False
    )
