"""The user's prompts: named, changed and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from app.features.presets.kept_page import NEW, KeptPage, PageWords
from app.features.presets.save_preset_dialog import LONGEST_NAME
from app.models.rows import DrawnRow
from app.text.translation import translate
from app.theme import ThemeKeeper
from app.widgets.layouts import Placed, in_column
from app.widgets.parts import set_up, words
from engine.values.order import MOST_CHARACTERS, LibraryPrompt

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
