"""A list of things with two lines each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.text.unseen import in_tip, one_line

Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """What is drawn of one thing; `key` identifies it."""

    key: Hashable
    title: str
    subtitle: str
    tag: str = ""  # a word or two on the right
    tag_token: str = "quiet"  # the theme's colour of it
    dimmed: bool = False  # cannot be used
    tooltip: str = ""
    is_heading: bool = False  # of the rows below it

    @property
    def about(self) -> str:
        """The tooltip, with lines that may be shortened in the row."""
        return in_tip("\n".join(dict.fromkeys(filter(None, (self.title, self.subtitle, *self.tooltip.split("\n"))))))

    @property
    def spoken(self) -> str:
        """The text for screen readers."""
        return one_line(", ".join(filter(None, (self.title, self.tag, self.subtitle))))


class RowsModel(QAbstractListModel):
    RowRole = Qt.ItemDataRole.UserRole + 1

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[DrawnRow, ...] = ()

    def set_rows(self, rows: Sequence[DrawnRow]) -> None:
        """Shows these rows; if their keys are unchanged, only their lines are updated."""
        if [row.key for row in rows] == [row.key for row in self.rows]:
            self.rows = tuple(rows)
            if rows:
                self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
            return
        self.beginResetModel()
        self.rows = tuple(rows)
        self.endResetModel()

    def index_of(self, key: Hashable) -> QModelIndex:
        number = next((number for number, row in enumerate(self.rows) if row.key == key), None)
        return ROOT if number is None else self.index(number)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.title
            case Qt.ItemDataRole.ToolTipRole:
                return row.about
            case Qt.ItemDataRole.AccessibleTextRole:
                return row.spoken
            case self.RowRole:
                return row
        return None
