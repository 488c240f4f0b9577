"""The first step: what it is about, and what was measured of this computer."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.dialogs.guided.step import State, StepPage
from app.text.outlooks import Fact
from app.widgets.layouts import Placed, add_row, in_column, in_grid
from app.widgets.parts import ProgressLine, discard, words


class MachinePage(StepPage):
    """Says what follows, then how the measuring goes, then its figures."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__("", "", parent)
        self.title = self.tr("See what speed-up does on this computer")
        self.action = self.tr("Measure this computer")
        about = self.tr(
            "It takes two minutes. Slipstream measures how fast this computer runs the model, has one prompt answered "
            "without speed-up and with it, side by side, and then tells you what to expect of which model here."
        )
        self.about = words(about, self)
        private = self.tr("Nothing leaves this computer, nothing is downloaded, and you can leave at any moment.")
        self.note = words(private, self, kind="quiet")
        self.progress = ProgressLine(self.tr("Measured so far"), self)
        self.status = words("", self, kind="quiet")
        self._facts = QWidget(self)
        self._grid = in_grid([], inside=self._facts, spacing=(16, 10), stretches=(0, 1))
        self._shown: list[QWidget] = []
        in_column([self.about, self.note, self.progress, self.status, self._facts], inside=self, spacing=12)
        self.progress.hide()
        self.status.hide()

    def show_running(self, share: float) -> None:
        """0 … 1 of the time that it takes; it begins with 0."""
        self.progress.show_share(share)
        self.progress.show()
        waits = self.tr("Waiting for the model, which is being loaded or busy…")
        self.status.setText(self.tr("Measuring…") if share else waits)
        self.status.show()
        if self.state is not State.RUNNING:
            self.show_facts(())
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

    def finish(self, facts: Sequence[Fact]) -> None:
        self.progress.hide()
        self.status.hide()
        self.show_facts(facts)
        self.set_state(State.DONE)
