"""What a model thought before it answered."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("messages", sa.Column("thoughts", sa.Text(), nullable=False, server_default=sa.text("'[]'")))
