"""Folders, pins, an archive; presets and prompts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.create_table(
        "presets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("system_prompt", sa.Text(), nullable=True),
        sa.Column("sampling", sa.Text(), nullable=True),
        sa.Column("thinks", sa.Boolean(), nullable=True),
        sa.Column("target_name", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("target_identity", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_presets")),
        sa.UniqueConstraint("name", name=op.f("uq_presets_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "prompts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prompts")),
        sa.UniqueConstraint("name", name=op.f("uq_prompts_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "folders",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("system_prompt", sa.Text(), nullable=True),
        sa.Column("preset_id", sa.Integer(), nullable=True),
        sa.Column("target_name", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("target_identity", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.ForeignKeyConstraint(
            ["preset_id"], ["presets.id"], name=op.f("fk_folders_preset_id_presets"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_folders")),
        sa.UniqueConstraint("name", name=op.f("uq_folders_name")),
        sqlite_autoincrement=True,
    )
    op.add_column("conversations", sa.Column("folder_id", sa.Integer(), nullable=True))
    op.add_column("conversations", sa.Column("pinned_at", sa.DateTime(), nullable=True))
    op.add_column("conversations", sa.Column("archived_at", sa.DateTime(), nullable=True))
    op.create_index(op.f("ix_conversations_folder_id"), "conversations", ["folder_id"])
