"""What each proposer drafted in a reply: rows in place of a column for the drafter and one for recall."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "reply_proposers",
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("num_rounds", sa.Integer(), nullable=False),
        sa.Column("num_drafted", sa.Integer(), nullable=False),
        sa.Column("num_accepted", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name="fk_reply_proposers_message_id_messages", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("message_id", "key", name="pk_reply_proposers"),
        sqlite_with_rowid=False,
    )
    for key in ("drafter", "recall"):
        op.execute(  # how much each drafted was not stored
            f"INSERT INTO reply_proposers SELECT message_id, '{key}', 0, 0, {key}_accepted FROM reply_statistics "
            f"WHERE {key}_accepted > 0"
        )
        op.drop_column("reply_statistics", f"{key}_accepted")
