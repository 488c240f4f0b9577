"""Quantizations of a model's weights: measured beside the model, and kept if the user wants one."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QFrame, QWidget

from app.features.library.quantization_wording import QuantizationRow, advice_words, needs_words
from app.features.library.quantizations_table import QuantizationsTable
from app.text.amounts import size_words
from app.text.translation import QT_TRANSLATE_NOOP
from app.text.unseen import in_tip, wrapped
from app.widgets.dialog_parts import Dialog, fill_dialog
from app.widgets.layouts import Part, Placed, Stretch, in_row
from app.widgets.parts import ProgressLine, button, set_up, words
from engine.values.quantizations import TuneReport

_WIDTH_PX = 820
_ABOUT = QT_TRANSLATE_NOOP(
    "QuantizationsDialog",
    "A quantization is the same model with its weights stored in fewer bits. Some are faster on this computer, and "
    "most change its words a little. Each one you tick is made, timed, compared with the model, and removed again. "
    "The model itself does not change, and your chats go first.",
)
_OWN_TIP = QT_TRANSLATE_NOOP(
    "QuantizationsDialog",
    "Uses your latest prompts instead of built-in ones. Only the comparison is kept.",
)
_SAME_TIP = QT_TRANSLATE_NOOP("QuantizationsDialog", "Among those with practically the same words; takes seconds")
_KEEP_TIP = QT_TRANSLATE_NOOP("QuantizationsDialog", "Makes this quantization as a model of its own in the library")


class QuantizationsDialog(Dialog):
    """Shows what is known of all quantizations of one model, and takes what the user wants of them. It stays open while
    that is done, which goes on when it is closed.

    Signals:
        measure_requested(tuple, bool): measure these, by name; whether along the user's own prompts.
        keep_requested(str): make this quantization for the library.
        use_requested(str): load the model with this reference.
        starter_tune_requested(): use the starter in its fastest quantization that says the same.
        starter_reset_requested(): use the starter as it came.
        cancel_requested(): end what is being done.
    """

    measure_requested = Signal(tuple, bool)
    keep_requested = Signal(str)
    use_requested = Signal(str)
    starter_tune_requested = Signal()
    starter_reset_requested = Signal()
    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((_WIDTH_PX, 0), parent)
        self.setWindowTitle(self.tr("Quantizations of a model"))
        self._report: TuneReport | None = None
        self._original: QuantizationRow | None = None
        self._is_busy = False
        self._done = 0.0
        self.heading = words("", self, kind="title")
        self.starter = QFrame(self)
        self.starter.setProperty("kind", "card")
        self.starter_words = words("", self.starter)
        self.tune_button = button(
            self.tr("Find the fastest one"),
            "outlined",
            self.starter,
            self.starter_tune_requested,
            tip=self.tr(_SAME_TIP),
        )
        self.reset_button = button(self.tr("Use the original"), "outlined", self.starter, self.starter_reset_requested)
        self.table = QuantizationsTable(self)
        self.table.changed.connect(self._show_current)
        self.advice = set_up(words("", self), kind="title")
        own_prompts = QCheckBox(self.tr("Compare with my latest prompts"), self)
        self.own_prompts = set_up(own_prompts, tip=wrapped(self.tr(_OWN_TIP)))
        self.needs = words("", self, kind="quiet")
        self.words = words("", self)
        self.progress = ProgressLine(self.tr("Measuring or making quantizations"), self)
        self.cancel_button = button(self.tr("Cancel"), "link", self, self._on_cancel)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        self.keep_button = button("", "outlined", self, self._on_keep)
        self.measure_button = button(self.tr("Measure"), "outlined", self, self._on_measure)
        self.measure_button.setDefault(True)
        self._arrange()
        self.show_model("", "", False)
        self.show_words("")
        self.show_busy(False)

    def show_model(self, name: str, starter: str, is_reset_possible: bool) -> None:
        """`starter`: of the starter, in which quantization it is used, in a sentence; empty for all other models."""
        self.heading.setText(name)
        self.starter.setVisible(bool(starter))
        self.starter_words.setText(starter)
        self.reset_button.setVisible(is_reset_possible)

    def show_quantizations(self, rows: Sequence[QuantizationRow], report: TuneReport | None, is_new: bool) -> None:
        """The model as it is first. `is_new`: of another model than before; else ticks stay as they are."""
        is_first = is_new or len(self.table.rows) < 2
        ticked = [row for row in rows if row.is_usual] if is_first else self.table.ticked
        current = None if is_first else self.table.current
        advised = "" if report is None else report.advice.quantization
        self._report, self._original = report, rows[0]
        self.table.show_rows(
            rows,
            report,
            frozenset(row.quantization for row in ticked),
            advised if current is None else current.quantization,
        )
        used = next((row.quantization for row in rows if row.is_used and not row.is_original), "")
        self.advice.setText("" if report is None else advice_words(report, used))
        self.advice.setVisible(bool(self.advice.text()))

    def show_words(self, text: str) -> None:
        """What is being done, or what came of it; a sentence."""
        self.words.setText(text)
        self.words.setVisible(bool(text))

    def show_busy(self, busy: bool) -> None:
        self._is_busy = busy
        self.progress.setVisible(busy)
        self.cancel_button.setVisible(busy)
        self.cancel_button.setEnabled(busy)
        self.tune_button.setEnabled(not busy)
        self.reset_button.setEnabled(not busy)
        self._done = 0.0
        self.progress.setValue(0)
        self._show_current()

    def show_progress(self, share: float) -> None:
        """`share` of it that is done, 0 … 1. It never goes back: where two quantizations do not fit into memory
        together, some steps come twice."""
        self._done = max(self._done, share)
        self.progress.show_share(self._done)

    # Qt's own

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.table.setFocus()

    def _arrange(self) -> None:
        in_row(
            [Placed(self.starter_words, 1), self.tune_button, self.reset_button],
            inside=self.starter,
            margins=(12, 8, 8, 8),
            spacing=8,
        )
        about = words(self.tr(_ABOUT), self, kind="quiet")
        heading: list[Part] = [self.heading, about, self.starter]
        found: list[Part] = [self.table, self.advice, self.own_prompts, self.needs, Stretch()]
        buttons: list[Part] = [self.cancel_button, Stretch(), self.close_button, self.keep_button, self.measure_button]
        fill_dialog(self, [*heading, *found], buttons, spacing=10, below=[self.words, self.progress])

    # What happens

    @Slot()
    def _show_current(self) -> None:
        """What can be done with the rows that are ticked, and with the one that is current."""
        ticked, row = self.table.ticked, self.table.current
        is_listed = len(self.table.rows) > 1 and self._original is not None
        self.needs.setVisible(is_listed)
        self.own_prompts.setVisible(is_listed)
        if is_listed and self._original is not None:
            self.needs.setText(needs_words(ticked, self._original, self._report))
        self.measure_button.setEnabled(bool(ticked) and not self._is_busy)
        self.keep_button.setVisible(row is not None and not row.is_original and not row.is_used)
        if row is None:
            return
        if row.here is not None:
            self.keep_button.setText(self.tr("Use {form}").format(form=row.quantization))
            self.keep_button.setToolTip(in_tip(str(row.here)))
        else:
            size = size_words(row.size_bytes)
            self.keep_button.setText(self.tr("Keep {form} ({size})").format(form=row.quantization, size=size))
            self.keep_button.setToolTip(in_tip(row.problem or self.tr(_KEEP_TIP)))
        self.keep_button.setEnabled(row.here is not None or not (row.problem or self._is_busy))

    @Slot()
    def _on_measure(self) -> None:
        self.measure_requested.emit(tuple(row.quantization for row in self.table.ticked), self.own_prompts.isChecked())

    @Slot()
    def _on_keep(self) -> None:
        row = self.table.current
        if row is None:
            return
        if row.here is not None:
            self.use_requested.emit(str(row.here))
        else:
            self.keep_requested.emit(row.quantization)

    @Slot()
    def _on_cancel(self) -> None:
        self.cancel_button.setEnabled(False)  # it may take some seconds
        self.cancel_requested.emit()
