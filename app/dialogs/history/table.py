"""The figures for each model and kind of text, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from app.dialogs.history.figures import Row
from app.dialogs.history.wording import HOW_COMPARED, cells
from app.text.marked_words import QT_TRANSLATE_NOOP
from app.text.translation import translate
from app.widgets.appearance import show_keyboard_focus

_COLUMNS = (  # in the context of what stands in them
    (
        QT_TRANSLATE_NOOP("Speed", "Kind"),
        QT_TRANSLATE_NOOP("Speed", "What a reply mostly is, told by its text; older replies count as prose"),
    ),
    (
        QT_TRANSLATE_NOOP("Speed", "Replies"),
        QT_TRANSLATE_NOOP("Speed", "Replies that are kept; those of deleted and incognito chats are not counted"),
    ),
    (QT_TRANSLATE_NOOP("Speed", "Tokens"), QT_TRANSLATE_NOOP("Speed", "Tokens of the model in these replies")),
    (
        QT_TRANSLATE_NOOP("Speed", "Tokens/s"),
        QT_TRANSLATE_NOOP(
            "Speed",
            "Tokens written per second, from the end of the prompt to the last token; all replies together",
        ),
    ),
    (QT_TRANSLATE_NOOP("Speed", "Ratio"), HOW_COMPARED),
    (
        QT_TRANSLATE_NOOP("Speed", "Per round"),
        QT_TRANSLATE_NOOP(
            "Speed",
            "Tokens that a pass of the model brought: its own, and the guesses that stood. Without guesses it is 1",
        ),
    ),
    (
        QT_TRANSLATE_NOOP("Speed", "Accepted"),
        QT_TRANSLATE_NOOP(
            "Speed", "Of the guessed tokens that the model checked, those that it would have written itself"
        ),
    ),
    (
        QT_TRANSLATE_NOOP("Speed", "Who guessed"),
        QT_TRANSLATE_NOOP("Speed", "Of the guesses that stood: whose they were. Of older replies this is not known"),
    ),
)
_MOST_ROWS_SHOWN = 14


class FiguresTable(QTableWidget):
    """Shows rows, under the names of their models; as high as they are, up to some number."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, len(_COLUMNS), parent)
        self.setProperty("kind", "figures")
        self.setAccessibleName(self.tr("Figures for each model and kind of text"))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)  # Tab leaves the table
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        for column, (name, _) in enumerate(_COLUMNS):
            header = QTableWidgetItem(translate("Speed", name))
            header.setToolTip(_about(column))
            header.setTextAlignment(_alignment(column))
            self.setHorizontalHeaderItem(column, header)
        header_view = self.horizontalHeader()
        header_view.setHighlightSections(False)
        header_view.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)  # also where text grows
        self.verticalHeader().geometriesChanged.connect(self._fit_height)
        header_view.geometriesChanged.connect(self._fit_height)

    def show_rows(self, rows: Sequence[Row]) -> None:
        self.clearSpans()
        self.setRowCount(0)
        name = ""
        for row in rows:
            if row.target_name != name:
                name = row.target_name
                self._add_name(name)
            self._add(cells(row))
        self._fit_height()

    @Slot()
    def _fit_height(self) -> None:
        header_view = self.horizontalHeader()
        height = header_view.sizeHint().height() + 2 * self.frameWidth()
        if header_view.length() > self.viewport().width():
            height += self.horizontalScrollBar().sizeHint().height()
        height += sum(self.rowHeight(number) for number in range(min(self.rowCount(), _MOST_ROWS_SHOWN)))
        self.setFixedHeight(height + 2)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        show_keyboard_focus(self, event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        show_keyboard_focus(self, event)

    def _add_name(self, name: str) -> None:
        number = self.rowCount()
        self.insertRow(number)
        item = QTableWidgetItem(name)
        font = self.font()
        font.setWeight(font.Weight.DemiBold)
        item.setFont(font)
        item.setToolTip(self.tr("The model that wrote these replies"))
        self.setItem(number, 0, item)
        self.setSpan(number, 0, 1, len(_COLUMNS))

    def _add(self, words: Sequence[str]) -> None:
        number = self.rowCount()
        self.insertRow(number)
        for column, word in enumerate(words):
            item = QTableWidgetItem(word)
            item.setTextAlignment(_alignment(column))
            item.setToolTip(_about(column))
            self.setItem(number, column, item)


def _about(column: int) -> str:
    return f"<p>{translate('Speed', _COLUMNS[column][1])}</p>".replace("\n", "<br>")


def _alignment(column: int) -> Qt.AlignmentFlag:
    is_words = column in (0, len(_COLUMNS) - 1)
    side = Qt.AlignmentFlag.AlignLeft if is_words else Qt.AlignmentFlag.AlignRight
    return side | Qt.AlignmentFlag.AlignVCenter
