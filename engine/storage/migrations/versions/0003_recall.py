"""The tokens of every message, in the vocabularies of the targets that were used, and plain speed beside a reply's."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "vocabularies",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_vocabularies"),
        sa.UniqueConstraint("fingerprint", name="uq_vocabularies_fingerprint"),
    )
    op.create_table(
        "recall",
        sa.Column("vocabulary_id", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name="fk_recall_message_id_messages", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["vocabulary_id"], ["vocabularies.id"], name="fk_recall_vocabulary_id_vocabularies", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("vocabulary_id", "message_id", name="pk_recall"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_recall_message_id", "recall", ["message_id"], unique=False)
    for name in ("plain_tokens_per_s", "plain_error"):
        op.add_column("reply_statistics", sa.Column(name, sa.Double(), server_default=sa.text("0"), nullable=False))
