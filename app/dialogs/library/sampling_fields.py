"""How a model chooses its words: a preset, or figures of one's own."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QGridLayout, QLabel, QSpinBox, QWidget

from app.dialogs.library.presets import PRESETS
from app.text.translation import translate
from engine import SamplingSettings

_AS_FOR_ALL = 0  # places among the presets
_FIRST_PRESET = 1
_OWN = _FIRST_PRESET + len(PRESETS)
_FIELD_PX = 100


class SamplingFields(QWidget):
    """Signals:
    changed(): the user wants another `sampling`.
    """

    changed = Signal()

    def __init__(self, for_all: SamplingSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._for_all = for_all
        self._sampling: SamplingSettings | None = None
        self._is_filling = False
        self.preset = QComboBox(self)
        presets = (translate("Sampling", name) for name, _ in PRESETS)
        self.preset.addItems([self.tr("As for all chats"), *presets, self.tr("Own figures")])
        self.preset.setAccessibleName(self.tr("Sampling"))
        self.preset.setToolTip(self.tr("How freely words are chosen. It holds from the next reply on."))
        self.preset.activated.connect(self._on_preset)
        self.temperature = self._number(
            5.0, 0.05, self.tr("How freely words are chosen: 0 always takes the likeliest, 1 follows the model.")
        )
        self.top_k = QSpinBox(self)
        self.top_k.setRange(0, 1_000_000)
        self.top_k.setSpecialValueText(self.tr("off"))
        self._prepare(self.top_k, self.tr("Only this many of the likeliest words; 0 is off."))
        self.top_p = self._number(1.0, 0.01, self.tr("Only the likeliest words that together make up this share."))
        self.min_p = self._number(
            1.0, 0.01, self.tr("Only words at least this likely, compared with the likeliest; 0 is off.")
        )
        self.repetition_penalty = self._number(
            10.0, 0.05, self.tr("Above 1, words that were written lately become less likely; 1 is off.")
        )
        self.repetition_penalty.setMinimum(0.1)
        fields: tuple[tuple[str, QSpinBox | QDoubleSpinBox], ...] = (
            (self.tr("Temperature"), self.temperature),
            (self.tr("Top-k"), self.top_k),
            (self.tr("Top-p"), self.top_p),
            (self.tr("Min-p"), self.min_p),
            (self.tr("Repetition penalty"), self.repetition_penalty),
        )
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(8)
        grid.addWidget(self.preset, 0, 0, 1, 2)
        for number, (words, field) in enumerate(fields):
            field.setAccessibleName(words)
            label = QLabel(words, self)
            label.setBuddy(field)
            label.setToolTip(field.toolTip())
            row, column = 1 + number // 2, 2 * (number % 2)
            grid.addWidget(label, row, column)
            grid.addWidget(field, row, column + 1)
        grid.setColumnStretch(4, 1)
        self.show_sampling(None)

    def set_for_all(self, sampling: SamplingSettings) -> None:
        """What holds for all chats is another now."""
        self._for_all = sampling
        if self._sampling is None:
            self.show_sampling(None)

    @property
    def sampling(self) -> SamplingSettings | None:
        """None: as for all chats."""
        return self._sampling

    def show_sampling(self, sampling: SamplingSettings | None) -> None:
        self._sampling = sampling
        shown = sampling or self._for_all
        self._is_filling = True
        self.temperature.setValue(shown.temperature)
        self.top_k.setValue(shown.top_k)
        self.top_p.setValue(shown.top_p)
        self.min_p.setValue(shown.min_p)
        self.repetition_penalty.setValue(shown.repetition_penalty)
        self._is_filling = False
        named = (place for place, (_, preset) in enumerate(PRESETS, _FIRST_PRESET) if preset == sampling)
        self.preset.setCurrentIndex(_AS_FOR_ALL if sampling is None else next(named, _OWN))

    def _number(self, most: float, step: float, about: str) -> QDoubleSpinBox:
        field = QDoubleSpinBox(self)
        field.setRange(0.0, most)
        field.setSingleStep(step)
        field.setDecimals(2)
        self._prepare(field, about)
        return field

    def _prepare(self, field: QSpinBox | QDoubleSpinBox, about: str) -> None:
        field.setToolTip(about)
        field.setProperty("kind", "field")
        field.setMinimumWidth(_FIELD_PX)
        field.setAlignment(Qt.AlignmentFlag.AlignRight)
        field.setKeyboardTracking(False)
        field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # the wheel scrolls the page
        field.valueChanged.connect(self._on_figure)

    @Slot(int)
    def _on_preset(self, number: int) -> None:
        if number == _OWN:
            self.show_sampling(self._sampling or self._for_all)
            self.preset.setCurrentIndex(_OWN)
        else:
            self.show_sampling(None if number == _AS_FOR_ALL else PRESETS[number - _FIRST_PRESET][1])
        self.changed.emit()

    @Slot()
    def _on_figure(self) -> None:
        if self._is_filling:
            return
        sampling = replace(
            self._sampling or self._for_all,
            temperature=round(self.temperature.value(), 2),
            top_k=self.top_k.value(),
            top_p=round(self.top_p.value(), 2),
            min_p=round(self.min_p.value(), 2),
            repetition_penalty=round(self.repetition_penalty.value(), 2),
        )
        self.show_sampling(sampling)
        self.changed.emit()
