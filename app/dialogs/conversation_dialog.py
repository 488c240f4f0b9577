"""The settings of one conversation: its system prompt, and how its replies are sampled."""

from __future__ import annotations

from dataclasses import asdict

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QLabel, QPlainTextEdit, QWidget

from app.dialogs.parts import Dialog, fill_dialog
from app.text.translation import translate
from app.widgets.layouts import Gap, Part, Stretch, in_grid, in_row
from app.widgets.number_field import number_box, show_number
from app.widgets.parts import button, keep_place, set_up, words
from engine import OwnSampling, ReplySettings
from engine.config import OWN_PARAMETERS
from engine.parameters import Parameter

_WIDTH_PX = 560
_PROMPT_PX = 120
_FIELD_PX = 130
_SHORT_REPLY = 256  # tokens


class ConversationDialog(Dialog):
    """Shows and takes the settings of one conversation.

    Signals:
        saved(str, OwnSampling): the system prompt and the sampling from the next reply on.
    """

    saved = Signal(str, OwnSampling)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((_WIDTH_PX, 0), parent)
        self._usual_prompt = ""
        self.about = words("", self, kind="quiet")
        example = self.tr("What the model is told before the chat begins")
        prompt = QPlainTextEdit(self, placeholderText=example, tabChangesFocus=True)
        self.system_prompt = set_up(prompt, kind="field", name=self.tr("System prompt"))
        self.system_prompt.setFixedHeight(_PROMPT_PX)
        self.rows = {parameter.name: _Row(parameter, self) for parameter in OWN_PARAMETERS}
        about_shorter = self.tr("Asks the model for a few sentences, and ends a reply after {number} tokens")
        tip = about_shorter.format(number=_SHORT_REPLY)
        self.shorter_button = button(self.tr("Shorter replies"), "outlined", self, self._shorten, tip=tip)
        self.reset_button = button(self.tr("Use defaults"), "outlined", self, self._reset)
        self.cancel_button = button(self.tr("Cancel"), "outlined", self, self.reject)
        self.save_button = button(self.tr("Save"), "primary", self, self._save)
        self.save_button.setDefault(True)
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
            row.show_value(chosen.get(name), of_all[name])

    def _arrange(self) -> None:
        rows = in_grid(
            [[row.own, row.value, row.usual] for row in self.rows.values()], spacing=(14, 6), stretches=(0, 0, 1)
        )
        buttons: list[Part] = [self.reset_button, Stretch(), self.cancel_button, self.save_button]
        fill_dialog(
            self,
            [
                self.about,
                in_row([words(self.tr("System prompt"), self, kind="title"), Stretch(), self.shorter_button]),
                self.system_prompt,
                Gap(4),
                words(self.tr("How it answers"), self, kind="title"),
                rows,
                Stretch(),
                Gap(4),
            ],
            buttons,
            spacing=10,
        )

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

    @Slot()
    def _save(self) -> None:
        chosen = OwnSampling(**{name: row.chosen for name, row in self.rows.items()})
        self.saved.emit(self.system_prompt.toPlainText(), chosen)
        self.accept()


class _Row:
    """A switch, the value that is used while it is on, and words for the one that is used otherwise."""

    def __init__(self, parameter: Parameter, parent: QWidget) -> None:
        about = translate("Settings", parameter.explanation)
        self._parameter = parameter
        self._of_all: float | None = None
        self.own = set_up(QCheckBox(translate("Settings", parameter.title), parent), tip=about, about=about)
        self.value = keep_place(number_box(parameter, _FIELD_PX, parent))
        self.usual = set_up(QLabel(parent), kind="faint")
        self.own.toggled.connect(self._show_own)

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
        self.usual.setText("" if own else self._default(is_open))
        if not own:
            show_number(self.value, self._parameter.suggested if self._of_all is None else self._of_all)

    def _default(self, is_open: bool) -> str:
        if not is_open:
            return translate("ConversationDialog", "default")
        unset = translate("Settings", self._parameter.unset)
        return translate("ConversationDialog", "default: {value}").format(value=unset)
