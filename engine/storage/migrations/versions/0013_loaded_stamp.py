"""A model file is known by what it was when it was last loaded. Those of before are looked at once more."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("target_files", sa.Column("loaded_stamp", sa.Text(), server_default=sa.text("''"), nullable=False))
