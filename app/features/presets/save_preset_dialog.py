"""What of a chat's settings becomes a preset, and its name."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from app.text.presets import ChatValues, sampling_words, thinking_words
from app.widgets.dialog_parts import Dialog, fill_dialog
from app.widgets.layouts import Gap, Part, Stretch
from app.widgets.parts import button, set_up, words
from engine import OwnSampling
from engine.values.order import Preset

_WIDTH_PX = 460
LONGEST_NAME = 100


class SavePresetDialog(Dialog):
    """Asks for a name. With that of a preset there is, it takes its place."""

    saved = Signal(object)  # (Preset) this one; its id is 0 if it is new

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((_WIDTH_PX, 0), parent)
        self.setWindowTitle(self.tr("Save as a preset"))
        self._presets: Sequence[Preset] = ()
        self._chat = ChatValues("", OwnSampling())
        self.about = words("", self, kind="quiet")
        self.name = set_up(QLineEdit(self, maxLength=LONGEST_NAME), name=self.tr("Name of the preset"))
        self.name.textChanged.connect(self._on_name)
        self.note = words("", self, kind="faint")
        self.prompt = QCheckBox(self)
        self.sampling = words("", self)
        self.thinking = QCheckBox(self)
        self.model = QCheckBox(self)
        self.cancel_button = button(self.tr("Cancel"), "outlined", self, self.reject)
        self.save_button = button(self.tr("Save"), "primary", self, self._save)
        self.save_button.setDefault(True)
        buttons: list[Part] = [Stretch(), self.cancel_button, self.save_button]
        title = words(self.tr("Name"), self, kind="title")
        holds = words(self.tr("Contains"), self, kind="title")
        contents = [self.about, title, self.name, self.note, holds, self.prompt, self.sampling, self.thinking]
        fill_dialog(self, [*contents, self.model, Stretch(), Gap(2)], buttons, spacing=8)

    def ask(self, chat: ChatValues, presets: Sequence[Preset], name: str, keys: str) -> None:
        """`name`: the preset that the chat began with; `keys`: the shortcut that lists the presets, if any."""
        self._chat, self._presets = chat, presets
        about = self.tr("A preset gives these settings to any chat: press {keys}, then its number.")
        self.about.setText(about.format(keys=keys))
        self.about.setVisible(bool(keys))
        self.name.setText(name)
        self.prompt.setText(self.tr("The system prompt") if chat.system_prompt else self.tr("No system prompt"))
        self.prompt.setChecked(True)
        self.sampling.setText(sampling_words(chat.sampling) or self.tr("General reply settings"))
        self.thinking.setText(thinking_words(chat.thinks))
        self.thinking.setVisible(chat.thinks is not None)
        self.thinking.setChecked(False)
        self.model.setVisible(chat.target is not None)
        if chat.target is not None:
            self.model.setText(self.tr("The model {name}").format(name=chat.target.name.replace("&", "&&")))
        self.model.setChecked(False)
        self._on_name()
        self.show()
        self.name.setFocus()
        self.name.selectAll()

    def _same_named(self) -> Preset | None:
        name = " ".join(self.name.text().split()).casefold()
        return next((each for each in self._presets if each.name.casefold() == name), None)

    @Slot()
    def _on_name(self) -> None:
        same = self._same_named()
        self.save_button.setEnabled(bool(self.name.text().strip()))
        self.save_button.setText(self.tr("Save") if same is None else self.tr("Replace"))
        self.note.setText("" if same is None else self.tr("Replaces the preset of this name."))
        self.name.setAccessibleDescription(self.note.text())

    @Slot()
    def _save(self) -> None:
        same, chat = self._same_named(), self._chat
        self.saved.emit(
            Preset(
                0 if same is None else same.id,
                " ".join(self.name.text().split()) if same is None else same.name,
                chat.system_prompt if self.prompt.isChecked() else None,
                chat.sampling,
                chat.thinks if self.thinking.isChecked() else None,
                chat.target if self.model.isChecked() else None,
            )
        )
        self.accept()
