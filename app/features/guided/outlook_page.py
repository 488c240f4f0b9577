"""The third step: what to expect of which model on this computer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.features.guided.step import State, StepPage
from app.text.translation import translate
from app.widgets.layouts import Stretch, in_column, in_row
from app.widgets.parts import button, discard, set_up, words
from engine.values.targets import HubFile


@dataclass(frozen=True, slots=True)
class Prospect:
    """What is said of a model."""

    name: str
    sentence: str
    note: str = ""  # whether it fits, and the like


class OutlookPage(StepPage):
    """A few models, the best of which can be looked at.

    Signals:
        model_requested(HubFile): show this one among those to download.
    """

    model_requested = Signal(HubFile)

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
        """`action`: on the button that shows the file; without one there is none."""
        self._file = file
        self.best.setText(sentence)
        self.best.setVisible(bool(sentence))
        self.best_button.setText(action)
        self.best_button.setVisible(file is not None)

    @property
    def text(self) -> str:
        """All that is said of models."""
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
