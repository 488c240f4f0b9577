"""The seed that writes a reply once more."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("reply_statistics", sa.Column("seed", sa.Text(), server_default=sa.text("''"), nullable=False))
