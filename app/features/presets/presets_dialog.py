"""Presets and the library of prompts: a page for each, and the dialog that holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QFrame, QLineEdit, QPlainTextEdit, QWidget

from app.features.presets.kept_page import NEW, KeptPage, PageWords
from app.features.presets.save_preset_dialog import LONGEST_NAME
from app.models.rows import DrawnRow
from app.text.presets import is_same_target, preset_words, sampling_words
from app.text.translation import translate
from app.theme import ThemeKeeper
from app.widgets.appearance import restyle
from app.widgets.dialog_parts import Dialog
from app.widgets.layouts import Placed, Stretch, in_column, in_row
from app.widgets.parts import Tabs, announce, button, set_up, words
from engine import OwnSampling
from engine.values.order import MOST_CHARACTERS, LibraryPrompt, Preset, TargetChoice

_PROMPT_PX = 100
_THINKING = (None, True, False)


class PresetsPage(KeptPage):
    # (Preset) show the numbers of this one, to be changed; `take_sampling` is the answer
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
        """Sets the library's models."""
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
        """Takes the stored version, whose name may have got a number. Text being typed stays."""
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


_LEAST_LINES = 6
_PREVIEW = 200  # characters


class PromptsPage(KeptPage):
    def __init__(self, keeper: ThemeKeeper, parent: QWidget) -> None:
        none = self.tr(
            "Prompts to use again. Type / at the beginning of a message to choose one. Create one with New, or "
            "start with the examples."
        )
        super().__init__(keeper, PageWords(self.tr("Prompts"), none, self.tr("Deletes this prompt")), parent)
        self.prompts: dict[int, LibraryPrompt] = {}
        self._shown: LibraryPrompt | None = None
        self._make_form()

    def _make_form(self) -> None:
        form = QWidget(self)
        self.name = set_up(QLineEdit(form, maxLength=LONGEST_NAME), name=self.tr("Name"))
        example = translate("PromptExamples", "Translate this into {language:English}:\n\n{text}")
        field = QPlainTextEdit(form, placeholderText=example, tabChangesFocus=True)
        self.text = set_up(field, kind="field", name=self.tr("Text of the prompt"))
        self.text.setMinimumHeight(_LEAST_LINES * self.text.fontMetrics().lineSpacing())
        about = translate(
            "PromptExamples",
            "Fill in words in braces with Tab: {topic}, or {tone:friendly} with a suggested value. {clipboard} "
            "stands for what you copied last.",
        )
        in_column(
            [
                words(self.tr("Name"), form, kind="title"),
                self.name,
                words(self.tr("Text"), form, kind="title"),
                Placed(self.text, 1),
                words(about, form, kind="faint"),
            ],
            inside=form,
            margins=(2, 0, 8, 0),
            spacing=6,
        )
        self.name.textEdited.connect(self.note_edit)
        self.text.textChanged.connect(self._on_typed)
        self.fill(form)

    def set_prompts(self, prompts: Sequence[LibraryPrompt]) -> None:
        self.prompts = {each.id: each for each in prompts}
        self.set_rows([DrawnRow(each.id, each.name, " ".join(each.text[:_PREVIEW].split())) for each in prompts])
        kept = None if self._shown is None else self.prompts.get(self._shown.id)
        if kept is not None and self._shown is not None and kept.text == self._shown.text:
            self._shown = kept  # a name that was taken has a number in the store
            if not self.name.hasFocus():
                self.name.setText(kept.name)

    # What `KeptPage` asks for

    def show_one(self, key: int) -> None:
        self._shown = self.prompts[key]
        self.name.setText(self._shown.name)
        self.text.setPlainText(self._shown.text)

    def changed_one(self) -> LibraryPrompt | None:
        if self._shown is None or self._shown.id not in self.prompts:
            return None
        text = self.text.toPlainText()[:MOST_CHARACTERS]
        prompt = replace(self._shown, name=" ".join(self.name.text().split()) or self._shown.name, text=text)
        if prompt == self._shown:
            return None
        self._shown = prompt
        return prompt

    def one(self, key: int) -> LibraryPrompt:
        return self.prompts[key]

    def new_one(self) -> LibraryPrompt:
        return LibraryPrompt(NEW, self.tr("New prompt"), "")

    def begin_name(self) -> None:
        self.name.setFocus()
        self.name.selectAll()

    @Slot()
    def _on_typed(self) -> None:
        if self._shown is not None and self.text.hasFocus():
            self.note_edit()


_SIZE_PX = (760, 600)


class PresetsDialog(Dialog):
    """Two pages, with the last action and its undo below them."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("Presets and prompts"))
        self.presets = PresetsPage(keeper, self)
        self.prompts = PromptsPage(keeper, self)
        self.pages = Tabs(self)
        self.pages.addTab(self.presets, self.tr("Presets"))
        self.pages.addTab(self.prompts, self.tr("Prompts"))
        self._undo: Callable[[], object] | None = None
        self.status = set_up(QFrame(self), kind="toast")
        self.words = words("", self.status)
        self.undo_button = button(self.tr("Undo"), "link", self.status, self._on_undo)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        top = Qt.AlignmentFlag.AlignTop
        in_row(
            [Placed(self.words, 1), Placed(self.undo_button, alignment=top)], inside=self.status, margins=(12, 8, 6, 8)
        )
        buttons = in_row([Stretch(), self.close_button])
        in_column([Placed(self.pages, 1), self.status, buttons], inside=self, margins=(18, 10, 18, 14), spacing=12)
        self.clear_words()

    def show_words(self, text: str, undo: Callable[[], object] | None = None, is_error: bool = False) -> None:
        """Says what was done; `undo` takes it back."""
        self._undo = undo
        self.words.setText(text)
        self.undo_button.setVisible(undo is not None)
        restyle(self.status, level="error" if is_error else "info")
        self.status.show()
        announce(self.words, text)

    @Slot()
    def clear_words(self) -> None:
        self._undo = None
        self.words.clear()
        self.status.hide()

    @Slot()
    def _on_undo(self) -> None:
        undo = self._undo
        self.clear_words()
        self.pages.currentWidget().setFocus()
        if undo is not None:
            undo()
