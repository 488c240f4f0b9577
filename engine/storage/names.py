"""Reads and writes what targets are called, by their vocabularies. The repository opens the transactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import Connection
from sqlalchemy.dialects.sqlite import insert

from engine.storage.connections import raw_rows
from engine.storage.recall import id_of
from engine.storage.schema import ImportedNameRow, VocabularyRow

_MOST_NAMES = 20  # of a vocabulary: those that were used last

# A target of the library has one name, whatever its copies are called; one that left it is known from its lessons.
_USED = """
SELECT vocabulary, name, last_used_at FROM targets
JOIN target_files ON target_files.id = (SELECT min(id) FROM target_files WHERE target_id = targets.id)
WHERE vocabulary <> '' AND typeof(vocabulary) = 'text'
UNION ALL
SELECT fingerprint, target_name, max(messages.created_at) FROM lessons
JOIN vocabularies ON vocabularies.id = vocabulary_id JOIN messages ON messages.id = lessons.message_id
WHERE typeof(target_name) = 'text' GROUP BY fingerprint, target_name
ORDER BY 3 DESC, 2
"""
_IMPORTED = """
SELECT fingerprint, name FROM imported_names JOIN vocabularies ON vocabularies.id = vocabulary_id
WHERE typeof(name) = 'text' ORDER BY name
"""
_OF_CHATS = "SELECT DISTINCT fingerprint FROM recall JOIN vocabularies ON vocabularies.id = vocabulary_id"


def read_target_names(connection: Connection) -> dict[str, tuple[str, ...]]:
    """By vocabulary: the targets that were used here, last used first; where none was, as a profile calls them."""
    used = _by_vocabulary(connection, _USED)
    return _by_vocabulary(connection, _IMPORTED) | used


def read_used_here(connection: Connection) -> frozenset[str]:
    """The vocabularies of targets that read or wrote chats here, or are in the library and were loaded."""
    return frozenset(_by_vocabulary(connection, _USED)) | {name for (name,) in raw_rows(connection, _OF_CHATS)}


def add_imported_names(connection: Connection, fingerprint: str, names: Sequence[str]) -> None:
    vocabulary_id = id_of(connection, VocabularyRow, fingerprint=fingerprint)
    rows = [{"vocabulary_id": vocabulary_id, "name": name} for name in names]
    if rows:
        connection.execute(insert(ImportedNameRow).on_conflict_do_nothing(), rows)


def _by_vocabulary(connection: Connection, statement: str) -> dict[str, tuple[str, ...]]:
    names: dict[str, dict[str, None]] = defaultdict(dict)
    for fingerprint, name, *_ in raw_rows(connection, statement):
        names[fingerprint][name] = None
    return {fingerprint: tuple(found)[:_MOST_NAMES] for fingerprint, found in names.items()}
