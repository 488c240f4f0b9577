"""Whether the drafter learns from chats, and how much of the idle time that may take."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QFrame, QGridLayout, QLabel, QSlider, QWidget

from app.dialogs.parts import words
from app.text.amounts import percent_words
from app.text.marked_words import QT_TRANSLATE_NOOP
from app.text.translation import translate
from app.widgets.layouts import Stretch, in_column
from engine import LearningSettings
from engine.parameters import parameter

_INDENT_PX = 24  # of what depends on the switch
_LEAST_PERCENT = round(100 * parameter(LearningSettings, "share").low)
_STEP_PERCENT = 5
_PAGE_PERCENT = 25
_ABOUT = QT_TRANSLATE_NOOP(
    "LearningPage",
    "From your chats the drafter learns to guess what your model writes, so that replies come faster. Everything stays "
    "on this machine.",
)
_ABOUT_ENABLED = QT_TRANSLATE_NOOP(
    "LearningPage",
    "The drafter reads your model's replies again, while nobody waits for one. Switched off, it learns nothing more, "
    "and what it has learned stays in use.",
)
_ABOUT_SHARE = QT_TRANSLATE_NOOP(
    "LearningPage",
    "How much of the time in which no reply is being written. Less keeps the machine cooler and quieter; more learns "
    "sooner. A reply never waits for it.",
)
_ABOUT_INCOGNITO = QT_TRANSLATE_NOOP(
    "LearningPage",
    "Incognito chats teach nothing: they are not kept, remembered or learned from, and are gone when Slipstream "
    "is closed.",
)
_ABOUT_BATTERY = QT_TRANSLATE_NOOP(
    "LearningPage", "Learning takes power. Without this it pauses until the machine is plugged in."
)


class LearningPage(QWidget):
    """Takes how the drafter is to learn; every change holds at once.

    Signals:
        changed(LearningSettings): what the user wants from now on.
    """

    changed = Signal(LearningSettings)

    def __init__(self, settings: LearningSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._share = settings.share
        self.enabled = QCheckBox(self.tr("Learn from my chats"), self)
        self.enabled.setToolTip(self.tr(_ABOUT_ENABLED))
        self.enabled.setChecked(settings.enabled)
        self.share_label = QLabel(self.tr("While nobody waits for a reply, learn"), self)
        self.share_label.setToolTip(self.tr(_ABOUT_SHARE))
        self.share = QSlider(Qt.Orientation.Horizontal, self)
        self.share.setRange(_LEAST_PERCENT, 100)
        self.share.setSingleStep(_STEP_PERCENT)
        self.share.setPageStep(_PAGE_PERCENT)
        self.share.setValue(round(settings.share * 100))
        self.share.setAccessibleName(self.tr("Percent of the time that nobody waits for a reply, for learning"))
        self.share.setAccessibleDescription(self.tr(_ABOUT_SHARE))
        self.share.setToolTip(self.tr(_ABOUT_SHARE))
        self.share_words = QLabel(self)
        self.share_words.setToolTip(self.tr(_ABOUT_SHARE))
        widest = max(map(self.share_words.fontMetrics().horizontalAdvance, map(_words_of_share, range(101))))
        self.share_words.setMinimumWidth(widest)  # or the slider would give way under the hand
        self.on_battery = QCheckBox(self.tr("Also on battery"), self)
        self.on_battery.setToolTip(self.tr(_ABOUT_BATTERY))
        self.on_battery.setChecked(settings.on_battery)
        self._arrange()
        self._show_enabled()
        self._show_share()
        self.enabled.toggled.connect(self._on_changed)
        self.share.valueChanged.connect(self._on_share_changed)
        self.share.sliderReleased.connect(self._on_changed)
        self.on_battery.toggled.connect(self._on_changed)

    def _arrange(self) -> None:
        details = QGridLayout()
        details.setContentsMargins(_INDENT_PX, 0, 0, 0)
        details.setHorizontalSpacing(14)
        details.setVerticalSpacing(8)
        details.setColumnStretch(0, 1)
        details.addWidget(self.share_label, 0, 0, 1, 2)
        details.addWidget(self.share, 1, 0)
        details.addWidget(self.share_words, 1, 1)
        details.addWidget(self.on_battery, 2, 0, 1, 2)
        line = QFrame(self)
        line.setProperty("kind", "line")
        line.setFixedHeight(1)
        in_column(
            [
                words(self.tr(_ABOUT), self, kind="quiet"),
                self.enabled,
                details,
                line,
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
        if not self.share.isSliderDown():  # dragged, it counts where it is let go
            self._on_changed()

    @Slot()
    def _on_changed(self) -> None:
        self._show_enabled()
        self.changed.emit(LearningSettings(self.enabled.isChecked(), self._share, self.on_battery.isChecked()))

    def _show_enabled(self) -> None:
        for part in (self.share_label, self.share, self.share_words, self.on_battery):
            part.setEnabled(self.enabled.isChecked())

    def _show_share(self) -> None:
        self.share_words.setText(_words_of_share(self.share.value()))


def _words_of_share(percent: int) -> str:
    if percent == 25:
        return translate("LearningPage", "a quarter of the time")
    if percent == 50:
        return translate("LearningPage", "half of the time")
    if percent == 75:
        return translate("LearningPage", "three quarters of the time")
    if percent == 100:
        return translate("LearningPage", "all of the time")
    return translate("LearningPage", "{percent} of the time").format(percent=percent_words(percent / 100))
