"""The user's presets: named, changed and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QPlainTextEdit, QWidget

from app.features.presets.kept_page import NEW, KeptPage, PageWords
from app.features.presets.save_preset_dialog import LONGEST_NAME
from app.models.rows import DrawnRow
from app.text.presets import is_same_target, preset_words, sampling_words
from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, Stretch, in_column
from app.widgets.parts import button, set_up, words
from engine import OwnSampling
from engine.values.order import MOST_CHARACTERS, Preset, TargetChoice

_PROMPT_PX = 100
_THINKING = (None, True, False)


class PresetsPage(KeptPage):
    """Signals:
    sampling_requested(Preset): show the numbers of this one, to be changed; `take_sampling` is the answer.
    """

    sampling_requested = Signal(object)

    def __init__(self, keeper: ThemeKeeper, parent: QWidget) -> None:
        none = self.tr(
            "A preset sets a chat's system prompt, sampling, thinking and model at once. Create one with New, or "
            "save the settings of a chat: Ctrl+P."
        )
        said = PageWords(
            self.tr("Presets"), none, self.tr("Deletes this preset; chats keep the settings they got from it")
        )
        super().__init__(keeper, said, parent)
        self.presets: dict[int, Preset] = {}
        self._targets: tuple[TargetChoice, ...] = ()
        self._shown: Preset | None = None
        self._sampling = OwnSampling()
        self._make_form()

    def _make_form(self) -> None:
        form = QWidget(self)
        self.name = set_up(QLineEdit(form, maxLength=LONGEST_NAME), name=self.tr("Name"))
        self.has_prompt = QCheckBox(self.tr("System prompt"), form)
        example = self.tr("What the model is told before the chat begins")
        field = QPlainTextEdit(form, placeholderText=example, tabChangesFocus=True)
        self.system_prompt = set_up(field, kind="field", name=self.tr("System prompt of the preset"))
        self.system_prompt.setFixedHeight(_PROMPT_PX)
        self.keeps = words(self.tr("The chat keeps its own."), form, kind="faint")
        self.sampling = words("", form)
        self.sampling_button = button(self.tr("Change…"), "outlined", form, self._change_sampling)
        self.sampling_button.setAccessibleName(self.tr("Change how it answers…"))
        self.thinking = set_up(_Choice(form), name=self.tr("Thinking"))
        self.thinking.addItems(
            [self.tr("As set for the model"), self.tr("Think first"), self.tr("Answer without thinking")]
        )
        self.model = set_up(_Choice(form), name=self.tr("Model"))
        self.model.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        left = Qt.AlignmentFlag.AlignLeft
        in_column(
            [
                words(self.tr("Name"), form, kind="title"),
                self.name,
                self.has_prompt,
                self.system_prompt,
                self.keeps,
                words(self.tr("How it answers"), form, kind="title"),
                self.sampling,
                Placed(self.sampling_button, alignment=left),
                words(self.tr("Thinking"), form, kind="title"),
                self.thinking,
                words(self.tr("Model"), form, kind="title"),
                self.model,
                Stretch(),
            ],
            inside=form,
            margins=(2, 0, 8, 0),
            spacing=6,
        )
        self.name.textEdited.connect(self.note_edit)
        self.system_prompt.textChanged.connect(self._on_typed)
        self.has_prompt.toggled.connect(self._show_prompt)
        self.has_prompt.clicked.connect(self.flush)
        for box in (self.thinking, self.model):
            box.activated.connect(self.flush)
        self.fill(form)

    def set_presets(self, presets: Sequence[Preset]) -> None:
        self.presets = {each.id: each for each in presets}
        self.set_rows([DrawnRow(each.id, each.name, preset_words(each)) for each in presets])
        kept = None if self._shown is None else self.presets.get(self._shown.id)
        if kept is not None and kept != self._shown:
            self._take(kept)

    def set_targets(self, targets: Sequence[TargetChoice]) -> None:
        """The models of the library."""
        self._targets = tuple(targets)
        if self._shown is not None:
            self._show_models(self._shown.target)

    def take_sampling(self, sampling: OwnSampling) -> None:
        self._sampling = sampling
        self._show_sampling()
        self.flush()

    # What `KeptPage` asks for

    def show_one(self, key: int) -> None:
        preset = self._shown = self.presets[key]
        self.name.setText(preset.name)
        self.has_prompt.setChecked(preset.system_prompt is not None)
        self.system_prompt.setPlainText(preset.system_prompt or "")
        self._show_prompt()
        self._sampling = preset.sampling
        self._show_sampling()
        self.thinking.setCurrentIndex(_THINKING.index(preset.thinks))
        self._show_models(preset.target)

    def changed_one(self) -> Preset | None:
        if self._shown is None or self._shown.id not in self.presets:
            return None
        told = self.system_prompt.toPlainText()[:MOST_CHARACTERS] if self.has_prompt.isChecked() else None
        preset = replace(
            self._shown,
            name=" ".join(self.name.text().split()) or self._shown.name,
            system_prompt=told,
            sampling=self._sampling,
            thinks=_THINKING[self.thinking.currentIndex()],
            target=self.model.currentData(),
        )
        if preset == self._shown:
            return None
        self._shown = preset
        return preset

    def one(self, key: int) -> Preset:
        return self.presets[key]

    def new_one(self) -> Preset:
        return Preset(NEW, self.tr("New preset"))

    def begin_name(self) -> None:
        self.name.setFocus()
        self.name.selectAll()

    # What happens

    def _take(self, kept: Preset) -> None:
        """As the store has it: a name that was taken has a number there. What is being typed stays."""
        if self._shown is not None and replace(kept, name=self._shown.name) == self._shown:
            self._shown = kept
            if not self.name.hasFocus():
                self.name.setText(kept.name)
        elif not self.isAncestorOf(self.focusWidget() or self.view):
            self.show_one(kept.id)

    @Slot()
    def _on_typed(self) -> None:
        if self._shown is not None and self.system_prompt.hasFocus():
            self.note_edit()

    @Slot()
    def _show_prompt(self) -> None:
        has_prompt = self.has_prompt.isChecked()
        self.system_prompt.setVisible(has_prompt)
        self.keeps.setVisible(not has_prompt)

    def _show_sampling(self) -> None:
        self.sampling.setText(sampling_words(self._sampling) or self.tr("As in all chats"))

    def _show_models(self, chosen: TargetChoice | None) -> None:
        self.model.clear()
        self.model.addItem(self.tr("Whichever is in use"), None)
        for target in self._targets:
            self.model.addItem(target.name, target)
        if chosen is None:
            return
        place = next((n for n, each in enumerate(self._targets, 1) if is_same_target(chosen, each)), 0)
        if place:
            self.model.setItemData(place, chosen)
        else:
            self.model.addItem(self.tr("{name} (not in the library)").format(name=chosen.name), chosen)
            place = self.model.count() - 1
        self.model.setCurrentIndex(place)

    @Slot()
    def _change_sampling(self) -> None:
        self.flush()
        if self._shown is not None:
            self.sampling_requested.emit(self._shown)


class _Choice(QComboBox):
    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the wheel scrolls the form, and never changes the value under the pointer
