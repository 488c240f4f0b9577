"""Switches learning from chats on and off, and sets how much of the idle time it may take."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QLabel, QSlider, QWidget

from app.features.personalization.practice_box import PracticeBox
from app.text.amounts import percent_words
from app.text.drafters import cannot_learn_words
from app.text.translation import QT_TRANSLATE_NOOP, translate
from app.widgets.layouts import Placed, Stretch, in_column, in_grid
from app.widgets.parts import line, set_up, words
from engine import LearningSettings
from engine.values.parameters import parameter

_INDENT_PX = 24  # of what depends on the switch
_LEAST_PERCENT = round(100 * parameter(LearningSettings, "share").low)
_STEP_PERCENT = 5
_PAGE_PERCENT = 25
_ABOUT = QT_TRANSLATE_NOOP(
    "LearningPage",
    "The drafter learns from your chats what your model tends to write, so that replies come faster. Everything "
    "stays on this computer.",
)
_ABOUT_ENABLED = QT_TRANSLATE_NOOP(
    "LearningPage",
    "It learns while no reply is being written. When switched off, it keeps what it has learned.",
)
_ABOUT_SHARE = QT_TRANSLATE_NOOP(
    "LearningPage",
    "Higher learns sooner; lower keeps the computer cooler and quieter. Replies never wait for learning.",
)
_ABOUT_INCOGNITO = QT_TRANSLATE_NOOP(
    "LearningPage",
    "Nothing is learned from incognito chats.",
)
_ABOUT_PRACTICE = QT_TRANSLATE_NOOP("LearningPage", "It stops at once when you send a message.")
_ABOUT_BATTERY = QT_TRANSLATE_NOOP("LearningPage", "When off, learning pauses while the computer runs on battery.")


class LearningPage(QWidget):
    """Takes the settings of learning; every change takes effect at once.

    Signals:
        changed(LearningSettings): the settings from now on.
    """

    changed = Signal(LearningSettings)

    def __init__(self, settings: LearningSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._share = settings.share
        self.enabled = set_up(QCheckBox(self.tr("Learn from my chats"), self), tip=self.tr(_ABOUT_ENABLED))
        self.enabled.setChecked(settings.enabled)
        about = self.tr(_ABOUT_SHARE)
        self.share_label = set_up(QLabel(self.tr("Learn while no reply is being written"), self), tip=about)
        self.share = set_up(
            QSlider(Qt.Orientation.Horizontal, self),
            name=self.tr("Percentage of the time without replies to spend learning"),
            tip=about,
            about=about,
        )
        self.share.setRange(_LEAST_PERCENT, 100)
        self.share.setSingleStep(_STEP_PERCENT)
        self.share.setPageStep(_PAGE_PERCENT)
        self.share.setValue(round(settings.share * 100))
        self.share_words = set_up(QLabel(self), tip=about)
        widest = max(map(self.share_words.fontMetrics().horizontalAdvance, map(_words_of_share, range(101))))
        self.share_words.setMinimumWidth(widest)  # else the slider would change its width while it is dragged
        self.on_battery = set_up(QCheckBox(self.tr("Also on battery"), self), tip=self.tr(_ABOUT_BATTERY))
        self.on_battery.setChecked(settings.on_battery)
        self.practises = set_up(QCheckBox(self.tr("Practise while idle"), self), tip=self.tr(_ABOUT_PRACTICE))
        self.practises.setChecked(settings.self_distils)
        self.practice = PracticeBox(settings, self)
        self.about = words(self.tr(_ABOUT), self, kind="quiet")
        self.cannot_learn = words(cannot_learn_words(), self, kind="quiet")
        self._arrange()
        self.show_can_learn(True)
        self._show_enabled()
        self._show_share()
        self.enabled.toggled.connect(self._on_changed)
        self.share.valueChanged.connect(self._on_share_changed)
        self.share.sliderReleased.connect(self._on_changed)
        self.on_battery.toggled.connect(self._on_changed)
        self.practises.toggled.connect(self._on_changed)
        self.practice.changed.connect(self._on_changed)

    def show_can_learn(self, can_learn: bool) -> None:
        """Shows the page for a drafter that can learn, or why the one in use cannot."""
        self.about.setVisible(can_learn)
        self.cannot_learn.setVisible(not can_learn)

    def _arrange(self) -> None:
        practice = in_column([self.practice], margins=(_INDENT_PX, 0, 0, 0))
        details = in_grid(
            [
                [Placed(self.share_label, columns=2)],
                [self.share, self.share_words],
                [Placed(self.on_battery, columns=2)],
                [Placed(self.practises, columns=2)],
                [Placed(practice, columns=2)],
            ],
            margins=(_INDENT_PX, 0, 0, 0),
            spacing=(14, 8),
            stretches=(1,),
        )
        in_column(
            [
                self.about,
                self.cannot_learn,
                self.enabled,
                details,
                line(self),
                words(self.tr(_ABOUT_INCOGNITO), self, kind="quiet"),
                Stretch(),
            ],
            inside=self,
            margins=(0, 4, 12, 4),
            spacing=12,
        )

    @Slot()
    def _on_share_changed(self) -> None:
        self._share = self.share.value() / 100
        self._show_share()
        if not self.share.isSliderDown():  # a dragged one counts when it is released
            self._on_changed()

    @Slot()
    def _on_changed(self) -> None:
        self._show_enabled()
        on_battery, practises = self.on_battery.isChecked(), self.practises.isChecked()
        settings = LearningSettings(self.enabled.isChecked(), self._share, on_battery, practises)
        self.changed.emit(self.practice.within(settings))

    def _show_enabled(self) -> None:
        for part in (self.share_label, self.share, self.share_words, self.on_battery, self.practises):
            part.setEnabled(self.enabled.isChecked())
        self.practice.set_practises(self.enabled.isChecked() and self.practises.isChecked())

    def _show_share(self) -> None:
        self.share_words.setText(_words_of_share(self.share.value()))


def _words_of_share(percent: int) -> str:
    words = {
        25: translate("LearningPage", "a quarter of the time"),
        50: translate("LearningPage", "half of the time"),
        75: translate("LearningPage", "three quarters of the time"),
        100: translate("LearningPage", "all of the time"),
    }
    other = translate("LearningPage", "{percent} of the time").format(percent=percent_words(percent / 100))
    return words.get(percent, other)
