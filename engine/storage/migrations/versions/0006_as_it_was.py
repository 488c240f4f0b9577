"""Which branches were left last, what system prompt a reply was given, how adapters of one target are counted, and
targets that were never used."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("conversations", sa.Column("left_heads", sa.Text(), server_default=sa.text("'[]'"), nullable=False))
    op.add_column("lessons", sa.Column("system_prompt", sa.Text(), server_default=sa.text("''"), nullable=False))
    op.execute(  # what it was at the time is not known any more
        "UPDATE lessons SET system_prompt = coalesce((SELECT conversations.system_prompt FROM messages "
        "JOIN conversations ON conversations.id = messages.conversation_id WHERE messages.id = message_id), '')"
    )
    op.add_column("adapters", sa.Column("ordinal", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.execute(
        "UPDATE adapters SET ordinal = (SELECT count(*) FROM adapters AS earlier "
        "WHERE earlier.target_fingerprint = adapters.target_fingerprint AND earlier.id <= adapters.id)"
    )
    _let_targets_be_unused()


def _let_targets_be_unused() -> None:
    """SQLite takes NOT NULL from no column, so the table is made anew. Nothing refers to it."""
    op.rename_table("targets", "targets_before")
    op.create_table(
        "targets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("last_used_at", sa.DateTime(), nullable=True),
        sa.Column("options", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("details", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_targets"),
        sa.UniqueConstraint("name", name="uq_targets_name"),
        sa.UniqueConstraint("path", name="uq_targets_path"),
    )
    op.execute(  # 1970 stood for never
        "INSERT INTO targets SELECT id, name, path, size_bytes, iif(last_used_at < '1970-01-02', NULL, last_used_at), "
        "options, details FROM targets_before"
    )
    op.drop_table("targets_before")
