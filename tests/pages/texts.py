"""All words of a page: what is shown, said by a tooltip or by a screen reader, or offered in a list."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QMenu, QTabWidget, QWidget

from app.models.conversations import ConversationsModel
from tests.pages.findings import shown_parts

_READ = (
    *("text", "toPlainText", "title", "windowTitle", "placeholderText", "prefix", "suffix", "specialValueText"),
    *("toolTip", "statusTip", "whatsThis", "accessibleName", "accessibleDescription"),
)
_ROLES = (
    *(Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole),
    Qt.ItemDataRole.AccessibleDescriptionRole,
)


def texts(window: QWidget, but: Collection[QWidget] = ()) -> list[str]:
    """Each with the widget that has it, sorted. `but`: widgets to leave out."""
    said = ((widget, text) for widget, text in _texts(window) if text.strip() and widget not in but)
    return sorted({f"{type(widget).__name__}: {text}" for widget, text in said})


def _texts(window: QWidget) -> Iterator[tuple[QWidget, str]]:
    for widget in (window, *shown_parts(window)):
        for text in (*_read(widget, _READ), *_of_actions(widget.actions())):
            yield widget, text
        if isinstance(widget, QTabWidget):
            for place in range(widget.count()):
                yield widget, widget.tabText(place)
                yield widget, widget.tabToolTip(place)
        if isinstance(widget, QComboBox | QAbstractItemView):
            for text in _of_model(widget.model()):
                yield widget, text
        if isinstance(widget, QMenu):
            for text in _of_actions(widget.actions()):
                yield widget, text


def _of_actions(actions: Iterable[QAction]) -> Iterator[str]:
    for action in actions:
        yield from _read(action, ("text", "toolTip", "statusTip"))
        yield action.shortcut().toString(action.shortcut().SequenceFormat.NativeText)


def _of_model(model: QAbstractItemModel) -> Iterator[str]:
    roles = (*_ROLES, ConversationsModel.GroupRole) if isinstance(model, ConversationsModel) else _ROLES
    num_columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(QModelIndex())
    for column in range(num_columns):
        yield str(model.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.DisplayRole) or "")
        yield str(model.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole) or "")
        for row in range(model.rowCount(QModelIndex())):
            for role in roles:
                yield str(model.data(model.index(row, column), role) or "")


def _read(of: object, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        read = getattr(of, name, None)
        if callable(read):
            yield str(read() or "")
