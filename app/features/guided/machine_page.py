"""The first step: what it is about, and what was measured of this computer."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from app.features.guided.step import State, StepPage
from app.text.outlooks import Fact
from app.text.translation import translate
from app.widgets.layouts import Placed, Stretch, add_row, in_column, in_grid, in_row
from app.widgets.parts import ProgressLine, button, discard, words


class MachinePage(StepPage):
    """Says what follows, then how the measuring goes, then its figures.

    Signals:
        again_requested(): measure once more.
    """

    again_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(
            translate("MachinePage", "See what speed-up does on this computer"),
            translate("MachinePage", "Measure this computer"),
            parent,
        )
        about = self.tr(
            "This takes two minutes. Slipstream measures how fast this computer runs the model, answers one prompt "
            "without and with speed-up, side by side, and then says what to expect from larger models here."
        )
        self.about = words(about, self)
        private = self.tr("Nothing leaves this computer, nothing is downloaded, and you can leave at any moment.")
        self.note = words(private, self, kind="quiet")
        self.progress = ProgressLine(self.tr("Measured so far"), self)
        self.status = words("", self, kind="quiet")
        self._facts = QWidget(self)
        self._grid = in_grid([], inside=self._facts, spacing=(16, 10), stretches=(0, 1))
        self._shown: list[QWidget] = []
        busy = self.tr(
            "Other programs keep this computer busy, so these figures are uncertain; measure again when it is idle."
        )
        self.busy = words(busy, self, kind="quiet")
        self.again_button = button(self.tr("Measure again"), "link", self, self.again_requested)
        in_column(
            [
                self.about,
                self.note,
                self.progress,
                self.status,
                self._facts,
                self.busy,
                in_row([self.again_button, Stretch()]),
                Stretch(),
            ],
            inside=self,
            spacing=12,
        )
        self.progress.hide()
        self.status.hide()
        self.busy.hide()
        self.again_button.hide()

    def show_running(self, share: float) -> None:
        """0 … 1 of the time that it takes; it begins with 0."""
        self.progress.show_share(share)
        self.progress.show()
        waits = self.tr("Waiting for the model, which is loading or busy…")
        self.status.setText(self.tr("Measuring…") if share else waits)
        self.status.show()
        if self.state is not State.RUNNING:
            self.show_facts(())
            self.busy.hide()
            self.again_button.hide()
            self.set_state(State.RUNNING)

    def show_failure(self, sentence: str) -> None:
        """Nothing was measured."""
        self.progress.hide()
        self.status.setText(sentence)
        self.set_state(State.OPEN)

    def show_facts(self, facts: Sequence[Fact]) -> None:
        for each in self._shown:
            self._grid.removeWidget(each)
            discard(each)
        self._shown.clear()
        for figure, about in facts:
            row = words(figure, self._facts, kind="title"), words(about, self._facts)
            row[0].setWordWrap(False)
            top = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight
            add_row(self._grid, [Placed(row[0], alignment=top), row[1]])
            self._shown += row

    def finish(self, facts: Sequence[Fact], is_busy: bool) -> None:
        """`is_busy`: whether something else used the processor meanwhile."""
        self.busy.setVisible(is_busy)
        self.again_button.setVisible(is_busy)
        self.progress.hide()
        self.status.hide()
        self.show_facts(facts)
        self.set_state(State.DONE)
