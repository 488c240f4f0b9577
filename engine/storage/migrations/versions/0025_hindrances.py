"""What kept a reply from being sped up."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.add_column(
        "reply_statistics", sa.Column("hindrance", sa.String(length=16), server_default=sa.text("''"), nullable=False)
    )
