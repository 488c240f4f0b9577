"""How often each drafter guessed right for a target, and what a guess costs: by these it is decided who drafts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "drafter_figures",
        sa.Column("target_identity", sa.Text(), nullable=False),
        sa.Column("drafter_key", sa.Text(), nullable=False),
        *(
            sa.Column(name, sa.Double(), nullable=False)
            for name in ("num_first", "first_right", "num_next", "next_right", "step_s")
        ),
        sa.PrimaryKeyConstraint("target_identity", "drafter_key", name="pk_drafter_figures"),
        sqlite_with_rowid=False,
    )
