"""The second step: one prompt, answered without speed-up and with it."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QComboBox, QPlainTextEdit, QWidget

from app.features.guided.samples import OWN, SAMPLES
from app.features.guided.step import State, StepPage
from app.features.speed.compared_sides import ComparedSides
from app.text.translation import translate
from app.widgets.layouts import Placed, ScrollArea, Stretch, in_column, in_row
from app.widgets.parts import set_up, words

_PROMPT_LINES = 3
_TEXT_LINES = 5  # of a reply, at least


class ProofPage(StepPage):
    """The user chooses a prompt or pastes a text; both replies are shown as they are written."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(
            translate("ProofPage", "The same reply, without and with speed-up"),
            translate("ProofPage", "Answer it both ways"),
            parent,
        )
        about = self.tr(
            "Speed-up pays most where text comes up again, such as yours being quoted, corrected or changed. Both "
            "replies are written now, one after the other, each timed by itself; nothing is kept."
        )
        self.choice = set_up(QComboBox(self), name=self.tr("Prompt to answer"))
        for sample in (*SAMPLES, OWN):
            self.choice.addItem(translate("Guided", sample.name), sample)
        field = QPlainTextEdit(self, tabChangesFocus=True)
        self.prompt = set_up(field, kind="field", name=self.tr("Prompt"))
        self.prompt.setFixedHeight(field.fontMetrics().lineSpacing() * _PROMPT_LINES + 22)
        self.sides = ComparedSides(self)
        for text in self.sides.texts.values():
            text.setMinimumHeight(text.fontMetrics().lineSpacing() * _TEXT_LINES + 22)
        chosen = in_row([self.choice, Stretch()])
        in_column([words(about, self), chosen, self.prompt, Placed(self.sides, 1)], inside=self, spacing=10)
        self.choice.currentIndexChanged.connect(self._offer)
        self.prompt.textChanged.connect(self._on_edited)
        self.sides.running.connect(self._on_running)
        self._offer()

    def finish(self) -> None:
        """Both sides have answered."""
        self.set_state(State.DONE)
        area = self.parentWidget()
        while area is not None and not isinstance(area, ScrollArea):
            area = area.parentWidget()
        if area is not None:  # in a low window, the result is below what is seen
            area.ensureWidgetVisible(self.sides.outcome)

    @property
    def words(self) -> str:
        return self.prompt.toPlainText().strip()

    @Slot()
    def _offer(self) -> None:
        sample = self.choice.currentData()
        is_own = self.choice.currentIndex() == len(SAMPLES)
        self.prompt.setPlainText(translate("Guided", sample.prompt) + "\n\n" if is_own else sample.prompt)
        if is_own:
            self.prompt.moveCursor(self.prompt.textCursor().MoveOperation.End)
            self.prompt.setFocus()

    @Slot()
    def _on_edited(self) -> None:
        """Another prompt has no replies yet."""
        self.can_begin = bool(self.words)
        if self.state is not State.RUNNING:
            self.sides.clear()
            self.set_state(State.OPEN)

    @Slot(bool)
    def _on_running(self, running: bool) -> None:
        self.choice.setEnabled(not running)
        self.prompt.setReadOnly(running)
        self.set_state(State.RUNNING if running else State.OPEN)
