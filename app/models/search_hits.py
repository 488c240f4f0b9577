"""What a search has found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.text.plain_snippet import plain_snippet
from engine.messages.conversations import SearchHit

_Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class SearchHitsModel(QAbstractListModel):
    HitRole = Qt.ItemDataRole.UserRole + 1

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._hits: tuple[SearchHit, ...] = ()

    @property
    def hits(self) -> tuple[SearchHit, ...]:
        return self._hits

    def set_hits(self, hits: tuple[SearchHit, ...]) -> None:
        self.beginResetModel()
        self._hits = tuple(map(_plain, hits))
        self.endResetModel()

    def rowCount(self, parent: _Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._hits)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        hit = self._hits[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.ToolTipRole:
                return hit.conversation.title
            case Qt.ItemDataRole.AccessibleDescriptionRole:
                return hit.snippet
            case self.HitRole:
                return hit
        return None


def _plain(hit: SearchHit) -> SearchHit:
    snippet, marks = plain_snippet(hit.snippet, hit.marks)
    return replace(hit, snippet=snippet, marks=marks)
