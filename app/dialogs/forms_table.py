"""All forms of a model side by side, measured or not, to be ticked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStyle, QTableWidget, QTableWidgetItem, QWidget

from app.dialogs.form_wording import COLUMNS, FormRow, cells
from app.text.translation import translate
from app.widgets.appearance import KeyboardFrame
from engine.messages.forms import TuneReport

_MOST_ROWS_SHOWN = 9  # more are scrolled to
_SCREEN_SHARE = 0.92  # of its width, that it is never wider than
_FIRST_FIGURE = 2  # column: what stands before is known without measuring


class FormsTable(KeyboardFrame, QTableWidget):
    """The model as it is first. Space ticks the current row. Hidden while empty.

    Signals:
        changed(): other rows are ticked, or another one is current.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, len(COLUMNS), parent)
        self.rows: tuple[FormRow, ...] = ()
        self._is_filling = False
        self.setProperty("kind", "figures")
        self.setAccessibleName(self.tr("Forms of this model"))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)  # Tab leaves the table
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        for number, (title, about) in enumerate(COLUMNS):
            header = QTableWidgetItem(translate("Forms", title))
            header.setToolTip(f"<p>{translate('Forms', about)}</p>")
            header.setTextAlignment(_alignment(number))
            self.setHorizontalHeaderItem(number, header)
        columns = self.horizontalHeader()
        columns.setHighlightSections(False)
        columns.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        columns.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)  # also where text grows
        self.verticalHeader().geometriesChanged.connect(self._fit)
        columns.geometriesChanged.connect(self._fit)
        self.itemChanged.connect(self._on_changed)
        self.itemSelectionChanged.connect(self._on_changed)
        self.hide()

    @property
    def current(self) -> FormRow | None:
        number = self.currentRow()
        return self.rows[number] if 0 <= number < len(self.rows) else None

    @property
    def ticked(self) -> tuple[FormRow, ...]:
        items = (self.item(number, 0) for number in range(self.rowCount()))
        pairs = zip(self.rows, items, strict=True)
        return tuple(row for row, item in pairs if item is not None and item.checkState() == _ON)

    def show_rows(self, rows: Sequence[FormRow], report: TuneReport | None, ticked: frozenset[str], point: str) -> None:
        """`ticked`: names of forms; `point`: of the one that is current from now on."""
        self._is_filling = True
        self.clearSpans()
        self.rows = tuple(rows)
        self.setRowCount(len(self.rows))
        for number, row in enumerate(self.rows):
            self._show_row(number, row, cells(row, report), row.form in ticked)
        at = next((number for number, row in enumerate(self.rows) if row.form == point), 0)
        self.setCurrentCell(at, 0)
        self._is_filling = False
        self.setVisible(bool(self.rows))
        self._fit()
        self.changed.emit()

    # Qt's own

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.item(self.currentRow(), 0)
        if event.key() == Qt.Key.Key_Space and item is not None and item.flags() & Qt.ItemFlag.ItemIsUserCheckable:
            item.setCheckState(_OFF if item.checkState() == _ON else _ON)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    # What is shown

    def _show_row(self, number: int, row: FormRow, words: Sequence[str], is_ticked: bool) -> None:
        is_told = bool(row.problem) and row.here is None and row.figures is None
        for place, word in enumerate(words):
            is_reason = is_told and place == _FIRST_FIGURE
            item = QTableWidgetItem(row.problem if is_reason else word)
            item.setTextAlignment(_alignment(0 if is_reason else place))
            item.setToolTip(f"<p>{row.problem or translate('Forms', COLUMNS[place][1])}</p>")
            item.setFlags(Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled)
            if row.is_original or row.is_used:
                font = self.font()
                font.setWeight(font.Weight.DemiBold)
                item.setFont(font)
            self.setItem(number, place, item)
            if place == 0 and row.can_be_ticked:
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
                item.setCheckState(_ON if is_ticked else _OFF)
        if is_told:
            self.setSpan(number, _FIRST_FIGURE, 1, len(COLUMNS) - _FIRST_FIGURE)

    @Slot()
    def _on_changed(self) -> None:
        if not self._is_filling:
            self.changed.emit()

    @Slot()
    def _fit(self) -> None:
        """As wide as its columns, as far as the screen goes, and as high as its rows, up to a number of them. Room that
        is left is the first column's."""
        columns = self.horizontalHeader()
        name_px = self.sizeHintForColumn(0) + self.style().pixelMetric(QStyle.PixelMetric.PM_IndicatorWidth)
        figures_px = columns.length() - columns.sectionSize(0)
        beside_px = 2 * self.frameWidth() + self.verticalScrollBar().sizeHint().width()
        room_px = self.screen().availableSize().width() * _SCREEN_SHARE
        self.setMinimumWidth(min(name_px + figures_px + beside_px, int(room_px)))
        columns.resizeSection(0, max(name_px, self.viewport().width() - figures_px))
        height = columns.sizeHint().height() + 2 * self.frameWidth()
        if columns.length() > self.viewport().width():
            height += self.horizontalScrollBar().sizeHint().height()
        height += sum(self.rowHeight(number) for number in range(min(self.rowCount(), _MOST_ROWS_SHOWN)))
        self.setFixedHeight(height + 2)


_ON, _OFF = Qt.CheckState.Checked, Qt.CheckState.Unchecked


def _alignment(column: int) -> Qt.AlignmentFlag:
    return (Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft) | Qt.AlignmentFlag.AlignVCenter
