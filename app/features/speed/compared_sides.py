"""Both replies of a comparison side by side, with their clocks, and what came of it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QWidget

from app.features.speed.compare_texts import ComparedTexts
from app.features.speed.compare_wording import HOW_IT_IS_FAIR, HOW_SPEED_IS_MEASURED
from app.text.translation import translate
from app.text.unseen import wrapped
from app.widgets.layouts import Placed, in_column, in_grid
from app.widgets.parts import ProgressLine, keep_place, set_up, words
from engine.values.comparison import Side


class ComparedSides(QWidget):
    """Shows replies while they are written, their speeds, and the result.

    Signals:
        running(bool): replies are being written, or no more.
    """

    running = Signal(bool)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("inside")
        names = {Side.PLAIN: self.tr("Plain reply"), Side.SPED_UP: self.tr("Sped-up reply")}
        self._written = ComparedTexts(names, self)
        self.texts = self._written.fields
        self.figures = {side: self._figures() for side in Side}
        self.progress = keep_place(ProgressLine(self.tr("Replies written"), self))
        fair = translate("Compare", HOW_IT_IS_FAIR)
        self.outcome = set_up(words("", self), kind="title", tip=wrapped(fair))
        self.reasons = words(fair, self, kind="quiet")
        sides = in_grid(
            [
                [words(self.tr("Plain"), self, kind="title"), words(self.tr("Sped up"), self, kind="title")],
                [self.texts[side] for side in Side],
                [self.figures[side] for side in Side],
            ],
            spacing=(14, 6),
            stretches=(1, 1),
        )
        sides.setRowStretch(1, 1)
        in_column([self.progress, Placed(sides, 1), self.outcome, self.reasons], inside=self, spacing=10)
        self.progress.hide()

    def clear(self) -> None:
        """Neither side has answered yet."""
        self._written.clear()
        for side in Side:
            self.figures[side].clear()
        self.show_progress(0.0)
        self.show_result("", ())

    def show_running(self, running: bool) -> None:
        self.progress.setVisible(running)
        self.running.emit(running)

    def add_text(self, side: Side, text: str) -> None:
        self._written.add(side, text)

    def show_figures(self, side: Side, sentence: str) -> None:
        self.figures[side].setText(sentence)

    def mark_difference(self) -> None:
        """Both replies are complete: shows where they begin to differ."""
        self._written.finish()

    def show_progress(self, share: float) -> None:
        """0 … 1 of all replies."""
        self.progress.show_share(share)

    def show_result(self, sentence: str, reasons: tuple[str, ...]) -> None:
        """How far it is, or the result."""
        self.outcome.setText(sentence)
        self.reasons.setText("\n".join((*reasons, translate("Compare", HOW_IT_IS_FAIR))))

    def _figures(self) -> QLabel:
        return set_up(words("", self), kind="quiet", tip=wrapped(translate("Compare", HOW_SPEED_IS_MEASURED)))
