"""The three steps of the guided start: measuring this computer, one reply both ways, and what to expect of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QPlainTextEdit, QWidget

from app.features.guided.samples import OWN, SAMPLES
from app.features.speed.compared_sides import ComparedSides
from app.text.outlooks import Fact
from app.text.translation import translate
from app.widgets.layouts import Placed, ScrollArea, Stretch, add_row, in_column, in_grid, in_row
from app.widgets.parts import ProgressLine, button, discard, set_up, show_text, words
from engine.values.targets import HubFile


class State(Enum):
    OPEN = auto()
    RUNNING = auto()
    DONE = auto()


class StepPage(QWidget):
    """A page that has a title, and a name for what there is to do on it."""

    changed = Signal()  # its state has changed

    def __init__(self, title: str, action: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("inside")
        self.title, self.action = title, action
        self.state = State.OPEN
        self.can_begin = True  # what there is to do

    def set_state(self, state: State) -> None:
        self.state = state
        self.changed.emit()


class MachinePage(StepPage):
    """Says what follows, then how the measuring goes, then its figures."""

    again_requested = Signal()  # measure once more

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
        """Shows the share of the time, 0 … 1, beginning with 0."""
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
        """`is_busy`: something else used the processor meanwhile."""
        self.busy.setVisible(is_busy)
        self.again_button.setVisible(is_busy)
        self.progress.hide()
        self.status.hide()
        self.show_facts(facts)
        self.set_state(State.DONE)


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
        """Shows the result."""
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
        """Clears the replies, which belong to another prompt."""
        self.can_begin = bool(self.words)
        if self.state is not State.RUNNING:
            self.sides.clear()
            self.set_state(State.OPEN)

    @Slot(bool)
    def _on_running(self, running: bool) -> None:
        self.choice.setEnabled(not running)
        self.prompt.setReadOnly(running)
        self.set_state(State.RUNNING if running else State.OPEN)


@dataclass(frozen=True, slots=True)
class Prospect:
    """What is said of a model."""

    name: str
    sentence: str
    note: str = ""  # whether it fits, and the like


class OutlookPage(StepPage):
    """A few models, the best of which can be looked at."""

    model_requested = Signal(HubFile)  # show this one among those to download

    def __init__(self, parent: QWidget) -> None:
        super().__init__(translate("OutlookPage", "What to expect here"), "", parent)
        self.set_state(State.DONE)  # there is nothing to do
        self._file: HubFile | None = None  # of the best model
        self.none = words(
            self.tr("Go back and measure this computer first; then this page says what to expect from which model."),
            self,
        )
        self._list = QWidget(self)
        self._rows = in_column([], inside=self._list, spacing=12)
        self._shown: list[QWidget] = []
        self.best = words("", self)
        self.best_button = button("", "outlined", self, self._on_best)
        estimates = self.tr(
            "These are estimates, from what was timed here, the size of each model, and how often guesses are "
            "usually right. The ranges cover most texts, not all. Looking at a model downloads nothing."
        )
        self.note = words(estimates, self, kind="quiet")
        offer = in_row([self.best_button, Stretch()])
        in_column([self.none, self._list, self.note, self.best, offer, Stretch()], inside=self, spacing=12)
        self.show_prospects(())
        self.show_best("", "", None)

    def show_prospects(self, prospects: Sequence[Prospect]) -> None:
        for each in self._shown:
            self._rows.removeWidget(each)
            discard(each)
        self._shown = [self._row(each) for each in prospects]
        for each in self._shown:
            self._rows.addWidget(each)
        self.none.setVisible(not prospects)
        self.note.setVisible(bool(prospects))

    def show_best(self, sentence: str, action: str, file: HubFile | None) -> None:
        """`action`: the words on the button that shows the file; without a file there is none."""
        self._file = file
        show_text(self.best, sentence)
        self.best_button.setText(action)
        self.best_button.setVisible(file is not None)

    @property
    def text(self) -> str:
        """All that is said about models."""
        return "\n".join(each.accessibleName() for each in self._shown)

    def _row(self, prospect: Prospect) -> QWidget:
        row = QWidget(self._list)
        parts = [words(prospect.name, row, kind="title"), words(prospect.sentence, row)]
        if prospect.note:
            parts.append(words(prospect.note, row, kind="faint"))
        in_column(parts, inside=row, spacing=2)
        said = " ".join(filter(None, (f"{prospect.name}:", prospect.sentence, prospect.note)))
        return set_up(row, name=said)

    def _on_best(self) -> None:
        if self._file is not None:
            self.model_requested.emit(self._file)
