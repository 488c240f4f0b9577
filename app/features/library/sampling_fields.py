"""How a model chooses its words: by a preset, or by the user's own figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QWidget

from app.text.translation import QT_TRANSLATE_NOOP, translate
from app.widgets.dialog_parts import MoreSection
from app.widgets.layouts import Placed, in_grid
from app.widgets.number_field import label_of, number_box, show_number
from app.widgets.parts import set_up
from engine import SamplingSettings
from engine.values.parameters import Scope, parameters

PRESETS: tuple[tuple[str, SamplingSettings], ...] = (
    (QT_TRANSLATE_NOOP("Sampling", "Precise"), SamplingSettings(temperature=0.2, top_k=20, top_p=0.9, min_p=0.1)),
    (QT_TRANSLATE_NOOP("Sampling", "Balanced"), SamplingSettings()),
    (QT_TRANSLATE_NOOP("Sampling", "Creative"), SamplingSettings(temperature=1.1, top_k=100, top_p=0.98, min_p=0.02)),
)
_AS_FOR_ALL = 0  # indices of the combo box
_FIRST_PRESET = 1
_OWN = _FIRST_PRESET + len(PRESETS)
_FIELD_PX = 100


class SamplingFields(QWidget):
    """Shows the sampling of one model, which is that of all chats unless the user wants otherwise."""

    changed = Signal()  # the user wants another `sampling`

    def __init__(self, for_all: SamplingSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._for_all = for_all
        self.sampling: SamplingSettings | None = None  # None: as for all chats
        self._is_filling = False
        tip = self.tr("How freely words are chosen. Applies from the next reply on.")
        self.preset = set_up(QComboBox(self), name=self.tr("Sampling"), tip=tip)
        presets = (translate("Sampling", name) for name, _ in PRESETS)
        self.preset.addItems([self.tr("Defaults"), *presets, self.tr("Custom")])
        self.preset.activated.connect(self._on_preset)
        self._declared = parameters(SamplingSettings, Scope.TARGET)
        self.fields = {each.name: number_box(each, _FIELD_PX, self) for each in self._declared}
        for each in self._declared:
            field = self.fields[each.name]
            field.setSpecialValueText(self.tr("off") if each.is_whole and each.off == each.low else "")
            field.setKeyboardTracking(False)
            field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # the wheel scrolls the page
            field.valueChanged.connect(self._on_figure)
        self._arrange()
        self.show_sampling(None)

    def set_for_all(self, sampling: SamplingSettings) -> None:
        """Sets the sampling of all chats."""
        self._for_all = sampling
        if self.sampling is None:
            self.show_sampling(None)

    def show_sampling(self, sampling: SamplingSettings | None) -> None:
        self.sampling = sampling
        self._is_filling = True
        for name, field in self.fields.items():
            show_number(field, getattr(sampling or self._for_all, name))
        self._is_filling = False
        if any(
            each.is_special and getattr(sampling or self._for_all, each.name) != each.default for each in self._declared
        ):
            self.more.button.setChecked(True)
        named = (place for place, (_, preset) in enumerate(PRESETS, _FIRST_PRESET) if preset == sampling)
        self.preset.setCurrentIndex(_AS_FOR_ALL if sampling is None else next(named, _OWN))

    def _arrange(self) -> None:
        special = {each.name for each in self._declared if each.is_special}
        rows = [[label_of(field, self), field] for name, field in self.fields.items() if name not in special]
        inside = QWidget(self)
        self.more = MoreSection(inside, self)
        others = [[label_of(self.fields[name], inside), self.fields[name]] for name in self.fields if name in special]
        in_grid(others, inside=inside, spacing=(10, 8), stretches=(0, 0, 1))
        first, last = [Placed(self.preset, columns=2)], [Placed(self.more, columns=3)]
        in_grid([first, *rows, last], inside=self, spacing=(10, 8), stretches=(0, 0, 1))

    @Slot(int)
    def _on_preset(self, number: int) -> None:
        if number == _OWN:
            self.show_sampling(self.sampling or self._for_all)
            self.preset.setCurrentIndex(_OWN)
        else:
            self.show_sampling(None if number == _AS_FOR_ALL else PRESETS[number - _FIRST_PRESET][1])
        self.changed.emit()

    @Slot()
    def _on_figure(self) -> None:
        if self._is_filling:
            return
        figures: dict[str, Any] = {name: field.value() for name, field in self.fields.items()}
        self.show_sampling(replace(self.sampling or self._for_all, **figures))
        self.changed.emit()
