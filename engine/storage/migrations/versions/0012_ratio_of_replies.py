"""How much faster than plain each reply was, by counts, and whether it repeated itself."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("reply_statistics", sa.Column("ratio", sa.Double(), server_default=sa.text("0"), nullable=False))
    op.add_column("reply_statistics", sa.Column("repeats", sa.Boolean(), server_default=sa.text("0"), nullable=False))
