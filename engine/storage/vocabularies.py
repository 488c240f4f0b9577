"""Finds a target's vocabulary by its fingerprint; the repository opens the transactions."""

from __future__ import annotations

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from engine.storage.schema import VocabularyRow


def make_vocabulary(connection: Connection, fingerprint: str) -> int:
    """Its id; it is made known if it was not."""
    connection.execute(insert(VocabularyRow).values(fingerprint=fingerprint).on_conflict_do_nothing())
    known = select(VocabularyRow.id).where(VocabularyRow.fingerprint == fingerprint)
    return connection.execute(known).scalar_one()
