"""What the pace knows of a target: what passes and guesses cost, and how often guesses are right."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "known_pace",
        sa.Column("target_identity", sa.Text(), nullable=False),
        sa.Column("build", sa.Text(), nullable=False),
        sa.Column("threads", sa.Integer(), nullable=False),
        sa.Column("pace", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("target_identity", "build", "threads", name="pk_known_pace"),
        sqlite_with_rowid=False,
    )
