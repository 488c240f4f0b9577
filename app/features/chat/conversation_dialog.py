"""The settings of one conversation: its system prompt, and how its replies are sampled."""

from __future__ import annotations

from dataclasses import asdict

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QPlainTextEdit, QWidget

from app.text.translation import translate, translated
from app.widgets.appearance import restyle
from app.widgets.dialog_parts import Dialog, MoreSection, fill_dialog
from app.widgets.layouts import Gap, Part, Placed, Stretch, in_column, in_grid, in_row
from app.widgets.number_field import number_box, show_number
from app.widgets.parts import ElidedLabel, button, keep_place, set_up, show_text, words
from engine import OwnSampling, ReplySettings
from engine.values.config import OWN_PARAMETERS, OWN_TEXTS
from engine.values.errors import SettingInvalid
from engine.values.parameters import Parameter, TextParameter

_WIDTH_PX = 560
_PROMPT_PX = 120
_FIELD_PX, _NARROW_PX = 130, 80
_TEXT_PX = 66
_SHORT_REPLY = 256  # tokens
_PAUSE_MS = 400  # after the last letter, until a text is looked at


class ConversationDialog(Dialog):
    """Shows and takes the settings of one conversation."""

    saved = Signal(str, OwnSampling)  # the system prompt and the sampling from the next reply on
    grammar_entered = Signal(str)  # `show_grammar_check` is to say what is wrong with it
    edited = Signal(str, OwnSampling)  # both as they are shown now; `show_preset` is to name them
    presets_requested = Signal()  # choose a preset instead

    def __init__(self, parent: QWidget | None = None, is_sampling_alone: bool = False) -> None:
        """`is_sampling_alone`: without a system prompt and presets."""
        super().__init__((_WIDTH_PX, 0), parent)
        self._is_sampling_alone = is_sampling_alone
        self._usual_prompt = ""
        self.about = words("", self, kind="quiet")
        example = self.tr("What the model is told before the chat begins")
        prompt = QPlainTextEdit(self, placeholderText=example, tabChangesFocus=True)
        self.system_prompt = set_up(prompt, kind="field", name=self.tr("System prompt"))
        self.system_prompt.setFixedHeight(_PROMPT_PX)
        self.rows = {parameter.name: _Row(parameter, self) for parameter in OWN_PARAMETERS}
        self.texts = {parameter.name: _TextSetting(parameter, self) for parameter in OWN_TEXTS}
        self.more = MoreSection(self._special(), self)
        self._checked: tuple[str, str] = ("", "")  # the grammar that was looked at last, and what is wrong with it
        self._is_saving = False  # as soon as the grammar is looked at
        self.preset = ElidedLabel(self)
        self.presets_button = button(self.tr("Choose a preset…"), "outlined", self, self.presets_requested)
        self._naming = QTimer(self, singleShot=True, interval=0)  # when all that a change changes is changed
        self._naming.timeout.connect(self._name)
        self._look = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._look.timeout.connect(self._look_at_grammar)
        self.texts["grammar"].field.textChanged.connect(self._on_grammar_changed)
        about_shorter = self.tr("Asks for a few sentences and ends a reply after {number} tokens")
        tip = about_shorter.format(number=_SHORT_REPLY)
        self.shorter_button = button(self.tr("Shorter replies"), "outlined", self, self._shorten, tip=tip)
        self.reset_button = button(self.tr("Use defaults"), "outlined", self, self._reset)
        self.cancel_button = button(self.tr("Cancel"), "outlined", self, self.reject)
        self.save_button = button(self.tr("Save"), "primary", self, self._save)
        self.save_button.setDefault(True)
        self.system_prompt.textChanged.connect(self._naming.start)
        for row in self.rows.values():
            row.own.toggled.connect(self._naming.start)
            row.value.valueChanged.connect(self._naming.start)
        for text in self.texts.values():
            text.field.textChanged.connect(self._naming.start)
        self._arrange()

    def show_values(
        self, title: str, about: str, system_prompt: str, own: OwnSampling, usual: ReplySettings, usual_prompt: str
    ) -> None:
        """`usual` and `usual_prompt` are those of all chats."""
        self.setWindowTitle(title)
        self.about.setText(about)
        self._usual_prompt = usual_prompt
        self.system_prompt.setPlainText(system_prompt)
        chosen, of_all = dict(own.chosen), asdict(usual) | asdict(usual.sampling)
        for name, row in self.rows.items():
            value = chosen.get(name)
            row.show_value(None if isinstance(value, str) else value, of_all[name])
        for name, text in self.texts.items():
            text.show_text(str(chosen.get(name, "")))
        self._is_saving = False
        special = {row.name for row in self.rows.values() if row.is_special} | self.texts.keys()
        self.more.button.setChecked(not special.isdisjoint(chosen))

    def show_preset(self, name: str) -> None:
        """Shows the preset that the values match; empty: none."""
        self.preset.set_words(self.tr("Preset: {name}").format(name=name) if name else self.tr("No preset"))

    def show_grammar_check(self, text: str, sentence: str) -> None:
        """Shows what is wrong with a grammar; an empty sentence: nothing is."""
        grammar = self.texts["grammar"]
        if text != grammar.text:
            return
        self._checked = text, sentence
        grammar.show_trouble(sentence, good=self.tr("The reply format is valid."))
        if self._is_saving:
            self._save()

    def _special(self) -> QWidget:
        """Rarely used settings: texts, then numbers."""
        inside = QWidget(self)
        special = [row.parts for row in self.rows.values() if row.is_special]
        numbers = in_grid(special, spacing=(14, 6), stretches=(0, 0, 1))
        texts = [part for text in self.texts.values() for part in (*text.parts, Gap(6))]
        in_column([*texts, Gap(2), numbers], inside=inside, spacing=4)
        return inside

    def _arrange(self) -> None:
        usual = [row for row in self.rows.values() if not row.is_special]
        rows = in_grid([row.parts for row in usual], spacing=(14, 6), stretches=(0, 0, 1))
        buttons: list[Part] = [self.reset_button, Stretch(), self.cancel_button, self.save_button]
        fill_dialog(
            self,
            [
                self.about,
                *self._beginning(),
                Gap(4),
                words(self.tr("How it answers"), self, kind="title"),
                rows,
                self.more,
                Stretch(),
                Gap(4),
            ],
            buttons,
            spacing=10,
        )

    def _beginning(self) -> list[Part]:
        title = words(self.tr("System prompt"), self, kind="title")
        parts = (self.preset, self.presets_button, title, self.shorter_button, self.system_prompt)
        if self._is_sampling_alone:
            for part in parts:
                part.hide()
            return []
        presets = in_row([Placed(self.preset, 1), self.presets_button])
        return [presets, in_row([title, Stretch(), self.shorter_button]), self.system_prompt]

    @Slot()
    def _name(self) -> None:
        """Names the preset, if all texts are valid."""
        self.show_preset("")
        if self._is_sampling_alone or not all(text.makes_sense for text in self.texts.values()):
            return
        self.edited.emit(self.system_prompt.toPlainText(), self._chosen())

    def _chosen(self) -> OwnSampling:
        numbers = {name: row.chosen for name, row in self.rows.items()}
        return OwnSampling(**numbers, **{name: text.text or None for name, text in self.texts.items()})

    @Slot()
    def _shorten(self) -> None:
        told, brief = self.system_prompt.toPlainText().strip(), self.tr("Answer briefly, in a few sentences.")
        if brief not in told:
            self.system_prompt.setPlainText(f"{told}\n{brief}".strip())
        self.rows["max_tokens"].choose(_SHORT_REPLY)

    @Slot()
    def _reset(self) -> None:
        self.system_prompt.setPlainText(self._usual_prompt)
        for row in self.rows.values():
            row.own.setChecked(False)
        for text in self.texts.values():
            text.show_text("")

    @Slot()
    def _on_grammar_changed(self) -> None:
        self._is_saving = False
        self._look.start()

    @Slot()
    def _look_at_grammar(self) -> None:
        if text := self.texts["grammar"].text:
            self.grammar_entered.emit(text)

    @Slot()
    def _save(self) -> None:
        """Saves, once the grammar is known to be valid."""
        self._is_saving = False
        grammar = self.texts["grammar"].text
        wrong = next((text for text in self.texts.values() if not text.is_fine()), None)
        if wrong is None and grammar and self._checked[0] != grammar:
            self._is_saving = True
            self.grammar_entered.emit(grammar)
            return
        if wrong is None and grammar and self._checked[1]:
            wrong = self.texts["grammar"]
        if wrong is not None:
            self.more.button.setChecked(True)
            wrong.field.setFocus()
            return
        self.saved.emit(self.system_prompt.toPlainText(), self._chosen())
        self.accept()


class _TextSetting:
    """A text of several lines, with its name and what it is above, and what is wrong with it below."""

    def __init__(self, parameter: TextParameter, parent: QWidget) -> None:
        self._parameter = parameter
        title, about = translate("Settings", parameter.title), translate("Settings", parameter.about)
        field = QPlainTextEdit(parent, placeholderText=parameter.example, tabChangesFocus=True)
        self.field = set_up(field, kind="field", name=title, about=about)
        self.field.setFixedHeight(_TEXT_PX)
        self.trouble = words("", parent, kind="faint")
        self.trouble.hide()
        self.field.textChanged.connect(lambda: self.show_trouble(""))
        self.parts = (words(title, parent), words(about, parent, kind="faint"), self.field, self.trouble)

    @property
    def text(self) -> str:
        return self.field.toPlainText().strip()

    def show_text(self, text: str) -> None:
        self.field.setPlainText(text)

    @property
    def makes_sense(self) -> bool:
        return not self.text or self._parameter.accepts(self.text)

    def is_fine(self) -> bool:
        """Checks what can be checked at once, and shows what is wrong."""
        try:
            self._parameter.check(self.text)
        except SettingInvalid as error:
            self.show_trouble(translated(error.sentence))
            return False
        return True

    def show_trouble(self, sentence: str, good: str = "") -> None:
        restyle(self.trouble, kind="error" if sentence else "faint")
        show_text(self.trouble, sentence or good)
        self.field.setAccessibleDescription(sentence or good or translate("Settings", self._parameter.about))


class _Row:
    """A switch, the value that is used while it is on, and words for the one that is used otherwise."""

    def __init__(self, parameter: Parameter, parent: QWidget) -> None:
        about = translate("Settings", parameter.explanation)
        self.name, self.is_special = parameter.name, parameter.is_special
        self._about = translate("Settings", parameter.about)
        self._parameter = parameter
        self._of_all: float | None = None
        self.own = set_up(QCheckBox(translate("Settings", parameter.title), parent), tip=about, about=about)
        self.value = keep_place(number_box(parameter, _NARROW_PX if parameter.is_special else _FIELD_PX, parent))
        self.usual = words("", parent, kind="faint")
        self.own.toggled.connect(self._show_own)
        self.parts = [self.own, self.value, self.usual]

    @property
    def chosen(self) -> float | None:
        return self.value.value() if self.own.isChecked() else None

    def show_value(self, value: float | None, of_all: float | None) -> None:
        self._of_all = of_all
        self.own.setChecked(value is not None)
        self._show_own(value is not None)
        if value is not None:
            self.choose(value)

    def choose(self, value: float) -> None:
        self.own.setChecked(True)
        show_number(self.value, value)

    def _show_own(self, own: bool) -> None:
        is_open = self._of_all is None
        self.value.setEnabled(own)
        self.value.setVisible(own or not is_open)
        self.usual.setText(self._about if self.is_special else "" if own else self._default(is_open))
        if not own:
            show_number(self.value, self._parameter.suggested if self._of_all is None else self._of_all)

    def _default(self, is_open: bool) -> str:
        if not is_open:
            return translate("ConversationDialog", "default")
        unset = translate("Settings", self._parameter.unset)
        return translate("ConversationDialog", "default: {value}").format(value=unset)
