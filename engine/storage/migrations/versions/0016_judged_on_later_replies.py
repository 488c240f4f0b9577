"""The temperature of lessons, what adapters brought on replies that came later, and what training has come to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("lessons", sa.Column("temperature", sa.Double(), server_default=sa.text("0"), nullable=False))
    op.add_column("adapters", sa.Column("error", sa.Double(), server_default=sa.text("0"), nullable=False))
    for name in ("num_chats", "num_tokens"):
        op.add_column("adapters", sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.create_table(
        "candidates",
        sa.Column("target_fingerprint", sa.Text(), nullable=False),
        sa.Column("drafter_fingerprint", sa.Text(), nullable=False),
        sa.Column("adapter", sa.Integer(), nullable=True),
        sa.Column("scored_until", sa.Integer(), nullable=False),
        sa.Column("learned_until", sa.Integer(), nullable=False),
        sa.Column("num_learned", sa.Integer(), nullable=False),
        sa.Column("capital", sa.Text(), nullable=False),
        sa.Column("weights", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("target_fingerprint", "drafter_fingerprint", name="pk_candidates"),
        sqlite_with_rowid=False,
    )
