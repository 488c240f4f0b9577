"""Settings and last use of a target belong to its identity, not to the path of its file; replies note who wrote them.

Files are not read here: a target gets its identity when its file is next seen, see `TargetRepository`.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("messages", sa.Column("target_identity", sa.Text(), nullable=True))
    op.rename_table("targets", "targets_before")
    op.create_table(
        "targets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("identity", sa.Text(), nullable=True),
        sa.Column("last_used_at", sa.DateTime(), nullable=True),
        sa.Column("options", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_targets"),
        sa.UniqueConstraint("identity", name="uq_targets_identity"),
    )
    op.create_table(
        "target_files",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("details", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.ForeignKeyConstraint(
            ["target_id"], ["targets.id"], name="fk_target_files_target_id_targets", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_target_files"),
        sa.UniqueConstraint("name", name="uq_target_files_name"),
        sa.UniqueConstraint("path", name="uq_target_files_path"),
    )
    op.create_index("ix_target_files_target_id", "target_files", ["target_id"])
    op.execute("INSERT INTO targets SELECT id, NULL, last_used_at, options FROM targets_before")
    op.execute("INSERT INTO target_files SELECT id, id, name, path, size_bytes, details FROM targets_before")
    op.drop_table("targets_before")
