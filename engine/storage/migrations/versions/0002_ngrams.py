"""N-grams for every pair of vocabularies, and what drafting did for a reply."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "vocabulary_pairs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("target_fingerprint", sa.Text(), nullable=False),
        sa.Column("drafter_fingerprint", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_vocabulary_pairs"),
        sa.UniqueConstraint("target_fingerprint", "drafter_fingerprint", name="uq_vocabulary_pairs_target_fingerprint"),
    )
    op.create_table(
        "ngrams",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("string", sa.LargeBinary(), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("doubts", sa.Integer(), nullable=False),
        sa.Column("last_use", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["vocabulary_pairs.id"], name="fk_ngrams_pair_id_vocabulary_pairs", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("pair_id", "string", name="pk_ngrams"),
        sqlite_with_rowid=False,
    )
    for name in ("num_rounds", "num_drafted", "num_accepted"):
        op.add_column("reply_statistics", sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False))
