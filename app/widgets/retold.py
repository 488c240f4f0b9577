"""What is shown is said again in another language, in place: nothing is made anew, and nothing is lost.

A widget whose words are more than Qt's properties has a method `retell`, which is given how to say them. What somebody
writes or reads in a chat stays as it is, and so do the items of a list with the property `theirs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QLocale, QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QGroupBox,
    QLineEdit,
    QListWidget,
    QMenu,
    QPlainTextEdit,
    QProgressBar,
    QTableWidget,
    QTabWidget,
    QTextEdit,
    QWidget,
)

Say = Callable[[str], str]
_ANY = ("toolTip", "statusTip", "whatsThis", "accessibleName", "accessibleDescription", "windowTitle")
_OWN: tuple[tuple[type[QObject], tuple[str, ...]], ...] = (  # beside these
    (QLineEdit, ("placeholderText",)),
    (QPlainTextEdit, ("placeholderText",)),
    (QTextEdit, ()),
    (QAbstractSpinBox, ("prefix", "suffix", "specialValueText")),
    (QProgressBar, ()),
    (QMenu, ("title",)),
    (QGroupBox, ("title",)),
)
_ELSE = ("text",)


@runtime_checkable
class Retold(Protocol):
    """Says its own words again."""

    def retell(self, say: Say) -> None: ...


def retell_all(say: Say, widgets: Iterable[QWidget] | None = None) -> None:
    """All windows, the hidden ones too."""
    actions: dict[QAction, None] = {}
    for widget in QApplication.allWidgets() if widgets is None else widgets:
        for child in widget.children():
            if isinstance(child, QAction):
                actions[child] = None
            elif not isinstance(child, QWidget):
                actions.update(dict.fromkeys(child.findChildren(QAction)))
                if isinstance(child, Retold):
                    child.retell(say)
        _retell(widget, say)
    for action in actions:
        _retell_action(action, say)


def _retell(widget: QWidget, say: Say) -> None:
    own = next((names for kind, names in _OWN if isinstance(widget, kind)), _ELSE)
    is_own = isinstance(widget, Retold)
    for name in (*_ANY, *(() if is_own else own)):
        _set(widget, name, say)
    if isinstance(widget, Retold):
        widget.retell(say)
    if isinstance(widget, QAbstractSpinBox):
        widget.setLocale(QLocale())  # of its number
    if isinstance(widget, QComboBox) and not widget.isEditable():
        for place in range(widget.count()):
            widget.setItemText(place, say(widget.itemText(place)))
    elif isinstance(widget, QTabWidget):
        for place in range(widget.count()):
            widget.setTabText(place, say(widget.tabText(place)))
            widget.setTabToolTip(place, say(widget.tabToolTip(place)))
    elif isinstance(widget, QListWidget) and not widget.property("theirs"):
        for place in range(widget.count()):
            widget.item(place).setText(say(widget.item(place).text()))
    elif isinstance(widget, QTableWidget):
        _retell_table(widget, say)


def _retell_table(table: QTableWidget, say: Say) -> None:
    heads = [table.horizontalHeaderItem(column) for column in range(table.columnCount())]
    cells = (table.item(row, column) for row in range(table.rowCount()) for column in range(table.columnCount()))
    for item in (*heads, *cells):
        if item is not None:
            item.setText(say(item.text()))
            item.setToolTip(say(item.toolTip()))


def _retell_action(action: QAction, say: Say) -> None:
    is_derived = action.toolTip() == action.text().replace("&", "").rstrip("….")
    if not is_derived:
        action.setToolTip(say(action.toolTip()))
    action.setText(say(action.text()))


def _set(widget: QWidget, name: str, say: Say) -> None:
    read, write = getattr(widget, name, None), getattr(widget, f"set{name[0].upper()}{name[1:]}", None)
    if not callable(read) or not callable(write):
        return
    words = read()
    told = say(words) if isinstance(words, str) and words else words
    if told != words:
        write(told)
