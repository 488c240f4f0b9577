"""Settings and drafts of conversations, what is known of targets, where tokens and time of a reply went."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("conversations", sa.Column("sampling", sa.Text(), nullable=True))
    op.add_column("conversations", sa.Column("draft", sa.Text(), server_default=sa.text("''"), nullable=False))
    for name in ("options", "details"):
        op.add_column("targets", sa.Column(name, sa.Text(), server_default=sa.text("''"), nullable=False))
    for name in ("draft_s", "check_s"):
        op.add_column("reply_statistics", sa.Column(name, sa.Double(), server_default=sa.text("0"), nullable=False))
    for name in ("drafter_accepted", "recall_accepted"):
        op.add_column("reply_statistics", sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column(
        "reply_statistics", sa.Column("kind", sa.String(16), server_default=sa.text("'prose'"), nullable=False)
    )
    op.add_column("reply_statistics", sa.Column("origins", sa.Text(), server_default=sa.text("'[]'"), nullable=False))
    op.create_table(
        "learning_days",
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("day", name="pk_learning_days"),
        sqlite_with_rowid=False,
    )
