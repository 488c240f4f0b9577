"""Which vocabulary a target has, and what profiles call targets that are elsewhere."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.add_column("targets", sa.Column("vocabulary", sa.Text(), server_default=sa.text("''"), nullable=False))
    op.create_table(
        "imported_names",
        sa.Column("vocabulary_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["vocabulary_id"],
            ["vocabularies.id"],
            name=op.f("fk_imported_names_vocabulary_id_vocabularies"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("vocabulary_id", "name", name=op.f("pk_imported_names")),
        sqlite_with_rowid=False,
    )
    op.execute(  # lessons know it of the targets that wrote them
        "UPDATE targets SET vocabulary = coalesce((SELECT fingerprint FROM messages "
        "JOIN lessons ON lessons.message_id = messages.id JOIN vocabularies ON vocabularies.id = vocabulary_id "
        "WHERE messages.target_identity = targets.identity LIMIT 1), '')"
    )
