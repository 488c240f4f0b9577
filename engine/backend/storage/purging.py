"""Removes for good what was deleted and can no longer be restored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import select

from engine.backend.storage.erasing import Due, delete_conversations, note
from engine.backend.storage.failures import is_locked
from engine.backend.storage.pictures import find_unnamed, remove_unnamed
from engine.backend.storage.schema import ConversationRow
from engine.backend.storage.transactions import SHORT_PATIENCE_S, Transactions
from engine.values.errors import StoreUnusable

_DELETED_IDS = select(ConversationRow.id).where(ConversationRow.deleted_at.is_not(None))


@dataclass(frozen=True, slots=True)
class _Owed:
    """What was deleted before, and not what is deleted since: that may still be restored."""

    conversations: frozenset[int] = frozenset()
    pictures: frozenset[tuple[int, str]] = frozenset()  # with their conversations


class PurgeRepository(Transactions):
    _owed = _Owed()

    def purge_deleted(self) -> int:
        """Removes the conversations that are deleted now for good, and returns how many, and pictures that drafts have
        let go of. `finish_erasure` is to follow, and removes what could not be removed. N-grams stay, see
        `load_ngrams`."""
        with self._reading() as connection:
            ids, pictures = connection.execute(_DELETED_IDS).scalars().all(), find_unnamed(connection)
        self._owed = _Owed(frozenset(ids), frozenset(pictures))
        self._purge()
        return len(ids)

    def finish_erasure(self, is_stopped: Callable[[], bool] = lambda: False) -> tuple[str, ...] | None:
        """Erases from the files what was deleted, now or before an interruption; takes seconds for a large store.
        Returns sentences about what could not be erased; the next call tries again. None: it gave way to others who
        use the store, or was stopped, and is to be called again soon."""
        try:
            self._purge()
        except StoreUnusable as error:
            return None if is_locked(error.__cause__) else (self._file.why_left(error),)
        return self._file.finish_erasure(is_stopped)

    def _purge(self) -> None:
        owed = self._owed
        if owed == _Owed():  # another program's lock would hold up a start for nothing
            return
        with self._writing(patience_s=SHORT_PATIENCE_S) as connection:
            deleted = connection.execute(_DELETED_IDS).scalars().all()
            delete_conversations(connection, [each for each in deleted if each in owed.conversations])
            remove_unnamed(connection, owed.pictures)
            note(connection, Due.PAGES)
        self._owed = _Owed()
