"""Limits of practice: minutes, hours of the night, and tokens; below them how far it has come."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QSizePolicy, QWidget

from app.text.practice import GRANTS, estimate_words, grant_words, progress_words
from app.text.translation import QT_TRANSLATE_NOOP
from app.widgets.dialog_parts import InlineQuestion
from app.widgets.layouts import Placed, Stretch, in_column, in_row
from app.widgets.number_field import label_of, number_box, show_number
from app.widgets.parts import ProgressLine, button, set_up, words
from engine import LearningSettings
from engine.values.learned import PracticeState
from engine.values.parameters import parameter

_NUMBER_PX = 70
_ABOUT = QT_TRANSLATE_NOOP(
    "PracticeBox",
    "While you are idle, the model answers questions from your chats again, so that the drafter has more to learn "
    "from. These answers are never shown or reused, and are deleted with their chat.",
)
_ABOUT_NIGHT = QT_TRANSLATE_NOOP("PracticeBox", "Then the computer has its days for you.")
_ABOUT_SHIPPED = QT_TRANSLATE_NOOP(
    "PracticeBox",
    "Some thousands in six languages, about everyday matters, code and maths. Yours come first.",
)
_ASK_ERASE = QT_TRANSLATE_NOOP(
    "PracticeBox",
    "Erase all practice answers, of all models? What the drafter learned from them stays. As long as it practises, new "
    "ones are written.",
)


class PracticeBox(QWidget):
    """Takes the limits of practice.

    Signals:
        changed(): there are other limits.
        erase_requested(): erase the answers; confirmed.
    """

    changed = Signal()
    erase_requested = Signal()

    def __init__(self, settings: LearningSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._state: PracticeState | None = None
        self.minutes, self.begins, self.ends = (
            number_box(parameter(LearningSettings, name), _NUMBER_PX, self)
            for name in ("self_distillation_minutes", "night_begins", "night_ends")
        )
        show_number(self.minutes, settings.self_distillation_minutes)
        show_number(self.begins, settings.night_begins)
        show_number(self.ends, settings.night_ends)
        self.at_night = set_up(QCheckBox(self.tr("Only at night"), self), tip=self.tr(_ABOUT_NIGHT))
        self.at_night.setChecked(settings.self_distils_at_night)
        self.minutes_label, self.begins_label, self.ends_label = (
            label_of(box, self) for box in (self.minutes, self.begins, self.ends)
        )
        about = self.tr(_ABOUT_SHIPPED)
        self.tokens_label = set_up(QLabel(self.tr("Also answer Slipstream's own questions"), self), tip=about)
        self.tokens = set_up(QComboBox(self), name=self.tokens_label.text(), tip=about)
        self.tokens.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.tokens_label.setBuddy(self.tokens)
        for number in sorted({*GRANTS, settings.self_distillation_tokens}):
            self.tokens.addItem("", number)
        self.tokens.setCurrentIndex(self.tokens.findData(settings.self_distillation_tokens))
        self.estimate = words("", self, kind="quiet")
        self.progress = words("", self)
        self.bar = ProgressLine(self.tr("Tokens read"), self)
        self.erase_button = button(self.tr("Erase practice answers…"), "outlined", self, self._ask)
        self.question = InlineQuestion(self.tr("Erase practice answers"), self)
        self._arrange()
        self._show()
        for box in (self.minutes, self.begins, self.ends):
            box.setKeyboardTracking(False)  # while it is typed, 10 is 1 first
            box.valueChanged.connect(self._on_changed)
        self.at_night.toggled.connect(self._on_changed)
        self.tokens.currentIndexChanged.connect(self._on_changed)
        self.question.confirmed.connect(self.erase_requested)
        self.question.confirmed.connect(self.erase_button.show)
        self.question.refused.connect(self.erase_button.show)

    def within(self, settings: LearningSettings) -> LearningSettings:
        """These settings with the limits chosen here."""
        return replace(
            settings,
            self_distillation_minutes=int(self.minutes.value()),
            self_distillation_tokens=self.tokens.currentData(),
            self_distils_at_night=self.at_night.isChecked(),
            night_begins=int(self.begins.value()),
            night_ends=int(self.ends.value()),
        )

    def show_state(self, state: PracticeState | None) -> None:
        """How far practice has come with the model and drafter in use; None: they cannot practise."""
        self._state = state
        self._show()

    def set_practises(self, practises: bool) -> None:
        for part in (self.minutes_label, self.minutes, self.at_night, self.tokens_label, self.tokens):
            part.setEnabled(practises)
        for part in (self.begins_label, self.begins, self.ends_label, self.ends):
            part.setEnabled(practises and self.at_night.isChecked())

    def set_busy(self, is_busy: bool) -> None:
        self.erase_button.setEnabled(not is_busy)

    def _arrange(self) -> None:
        night = [self.at_night, self.begins_label, self.begins, self.ends_label, self.ends]
        in_column(
            [
                words(self.tr(_ABOUT), self, kind="quiet"),
                in_row([self.minutes_label, self.minutes, Stretch()], spacing=14),
                in_row([*night, Stretch()], spacing=14),
                self.tokens_label,
                self.tokens,
                self.estimate,
                self.progress,
                self.bar,
                Placed(self.erase_button, alignment=Qt.AlignmentFlag.AlignLeft),
                self.question,
            ],
            inside=self,
            margins=(0, 0, 0, 0),
            spacing=8,
        )

    @Slot()
    def _on_changed(self) -> None:
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        settings, state = self.within(self._settings), self._state
        for place in range(self.tokens.count()):
            self.tokens.setItemText(place, grant_words(self.tokens.itemData(place), settings, state))
        self.estimate.setText(estimate_words(state))
        progress = "" if state is None else progress_words(settings, state)
        self.progress.setText(progress)
        self.progress.setVisible(bool(progress))
        granted = settings.self_distillation_tokens
        self.bar.setVisible(bool(progress) and granted > 0)
        if state is not None and granted > 0:
            self.bar.show_share(state.num_read / granted)

    @Slot()
    def _ask(self) -> None:
        self.erase_button.hide()
        self.question.ask(self.tr(_ASK_ERASE))
