"""The conversations of the sidebar, last used first."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from PySide6.QtCore import QAbstractListModel, QObject, Qt, Signal

from app.models.rows import ROOT, Index
from app.text.translation import QT_TRANSLATE_NOOP, translate
from app.text.unseen import in_tip, one_line
from engine.messages.conversations import ConversationSummary

_UNTITLED = QT_TRANSLATE_NOOP("ConversationsModel", "New chat")  # as the store has it


def title_words(title: str) -> str:
    """That of a chat without one in the user's language."""
    return translate("ConversationsModel", title) if title == _UNTITLED else title


class ConversationsModel(QAbstractListModel):
    """Conversations by `updated_at`; each row knows the heading of its group of days.

    Signals:
        renamed(int, str): the user has given the conversation with this id another title.
    """

    IdRole = Qt.ItemDataRole.UserRole + 1
    GroupRole = Qt.ItemDataRole.UserRole + 2  # the heading above this row; empty where the row before has the same
    IncognitoRole = Qt.ItemDataRole.UserRole + 3

    renamed = Signal(int, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._summaries: list[ConversationSummary] = []

    def set_all(self, summaries: tuple[ConversationSummary, ...]) -> None:
        self.beginResetModel()
        self._summaries = sorted(summaries, key=_used_at, reverse=True)
        self.endResetModel()

    def upsert(self, summary: ConversationSummary) -> None:
        """Adds a conversation, or changes one; it moves to the place of its time."""
        row = self.row_of(summary.id)
        others = [other for other in self._summaries if other.id != summary.id]
        target = sum(_used_at(other) > _used_at(summary) for other in others)
        if row is None:
            self.beginInsertRows(ROOT, target, target)
            self._summaries.insert(target, summary)
            self.endInsertRows()
        elif row == target:
            self._summaries[row] = summary
        else:
            # Qt counts the row at its old place until it has moved.
            self.beginMoveRows(ROOT, row, row, ROOT, target + 1 if target > row else target)
            self._summaries.pop(row)
            self._summaries.insert(target, summary)
            self.endMoveRows()
        self._all_changed()

    def remove(self, conversation_id: int) -> None:
        row = self.row_of(conversation_id)
        if row is not None:
            self.beginRemoveRows(ROOT, row, row)
            self._summaries.pop(row)
            self.endRemoveRows()
            self._all_changed()

    def row_of(self, conversation_id: int) -> int | None:
        return next((row for row, summary in enumerate(self._summaries) if summary.id == conversation_id), None)

    def find(self, conversation_id: int) -> ConversationSummary | None:
        return next((summary for summary in self._summaries if summary.id == conversation_id), None)

    def summary(self, row: int) -> ConversationSummary:
        return self._summaries[row]

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._summaries)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        summary = self._summaries[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.EditRole:
                return title_words(summary.title)
            case Qt.ItemDataRole.ToolTipRole:
                return in_tip(title_words(summary.title))
            case Qt.ItemDataRole.AccessibleTextRole:
                return one_line(title_words(summary.title))
            case self.IdRole:
                return summary.id
            case self.IncognitoRole:
                return summary.incognito
            case Qt.ItemDataRole.AccessibleDescriptionRole:
                return self.tr("Incognito") if summary.incognito else ""
            case self.GroupRole:
                return self._heading(index.row())
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        title = " ".join(str(value).split())
        old = self._summaries[index.row()]
        if role != Qt.ItemDataRole.EditRole or not title or title == old.title:
            return False
        self._summaries[index.row()] = replace(old, title=title)
        self.dataChanged.emit(index, index)
        self.renamed.emit(old.id, title)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsEditable if index.isValid() else flags

    def _heading(self, row: int) -> str:
        today = datetime.now().astimezone().date()
        group = group_of(self._summaries[row].updated_at, today)
        return group if row == 0 or group_of(self._summaries[row - 1].updated_at, today) != group else ""

    def _all_changed(self) -> None:
        if self._summaries:  # the headings of neighbours may have changed
            self.dataChanged.emit(self.index(0), self.index(len(self._summaries) - 1))


def group_of(used_at: datetime, today: date) -> str:
    day = used_at.astimezone().date() if used_at.tzinfo else used_at.date()
    if day >= today:
        return translate("ConversationsModel", "Today")
    if day == today - timedelta(days=1):
        return translate("ConversationsModel", "Yesterday")
    if day >= today - timedelta(days=7):
        return translate("ConversationsModel", "Previous 7 days")
    return translate("ConversationsModel", "Older")


def _used_at(summary: ConversationSummary) -> float:
    return summary.updated_at.timestamp()
