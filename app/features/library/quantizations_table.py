"""All quantizations of a model side by side, measured or not, to be ticked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget

from app.features.library.quantization_wording import COLUMNS, QuantizationRow, cells
from app.text.translation import translate
from app.text.unseen import in_tip, wrapped
from app.widgets.table import Heading, Table
from engine.values.quantizations import TuneReport

_MOST_ROWS_SHOWN = 9
_FIRST_FIGURE = 2  # column: what stands before is known without measuring
_ON, _OFF = Qt.CheckState.Checked, Qt.CheckState.Unchecked


class QuantizationsTable(Table):
    """The model as it is first. Space ticks the current row. Hidden while empty.

    Signals:
        changed(): other rows are ticked, or another one is current.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        headings = [
            Heading(translate("Quantizations", title), wrapped(translate("Quantizations", about)), is_words=not number)
            for number, (title, about) in enumerate(COLUMNS)
        ]
        super().__init__(headings, _MOST_ROWS_SHOWN, parent=parent, first_grows=True)
        self.rows: tuple[QuantizationRow, ...] = ()
        self._is_filling = False
        self.setAccessibleName(self.tr("Quantizations of this model"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.itemChanged.connect(self._on_changed)
        self.itemSelectionChanged.connect(self._on_changed)
        self.hide()

    @property
    def current(self) -> QuantizationRow | None:
        number = self.currentRow()
        return self.rows[number] if 0 <= number < len(self.rows) else None

    @property
    def ticked(self) -> tuple[QuantizationRow, ...]:
        items = (self.item(number, 0) for number in range(self.rowCount()))
        pairs = zip(self.rows, items, strict=True)
        return tuple(row for row, item in pairs if item is not None and item.checkState() == _ON)

    def show_rows(
        self, rows: Sequence[QuantizationRow], report: TuneReport | None, ticked: frozenset[str], point: str
    ) -> None:
        """`ticked`: names of quantizations; `point`: of the one that is current from now on."""
        self._is_filling = True
        self.clearSpans()
        self.rows = tuple(rows)
        self.setRowCount(len(self.rows))
        for number, row in enumerate(self.rows):
            self.show_row(number, cells(row, report), tip=row.problem, is_bold=row.is_original or row.is_used)
            if row.can_be_ticked:
                self._offer_tick(number, row.quantization in ticked)
            elif row.problem and row.figures is None:
                self._tell(number, row.problem)
        at = next((number for number, row in enumerate(self.rows) if row.quantization == point), 0)
        self.setCurrentCell(at, 0)
        self._is_filling = False
        self.setVisible(bool(self.rows))
        self._fit()
        self.changed.emit()

    # Qt's own

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row, item = self.current, self.item(self.currentRow(), 0)
        if event.key() == Qt.Key.Key_Space and row is not None and row.can_be_ticked and item is not None:
            item.setCheckState(_OFF if item.checkState() == _ON else _ON)
        else:
            super().keyPressEvent(event)

    # What is shown

    def _offer_tick(self, number: int, is_ticked: bool) -> None:
        item = self.item(number, 0)
        if item is not None:
            item.setCheckState(_ON if is_ticked else _OFF)

    def _tell(self, number: int, problem: str) -> None:
        """Shows a problem in place of figures."""
        item = self.item(number, _FIRST_FIGURE)
        if item is not None:
            item.setText(problem)
            item.setTextAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            item.setToolTip(wrapped(in_tip(problem)))
        self.setSpan(number, _FIRST_FIGURE, 1, len(COLUMNS) - _FIRST_FIGURE)

    @Slot()
    def _on_changed(self) -> None:
        if not self._is_filling:
            self.changed.emit()
