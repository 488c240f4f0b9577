"""A folder: its name, and what the chats that begin in it begin with."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QComboBox, QLineEdit, QPlainTextEdit, QWidget

from app.text.presets import is_same_target
from app.widgets.dialog_parts import Dialog, fill_dialog, show_in_front
from app.widgets.layouts import Gap, Part, Stretch, in_grid
from app.widgets.parts import button, set_up, words
from engine.values.order import FOLDER_NAME_LENGTH, Folder, Preset, TargetChoice

_WIDTH_PX = 520
_PROMPT_PX = 110
_LIST_LENGTH = 30  # characters that a list is at least wide


class FolderDialog(Dialog):
    """Shows and takes what a folder has. It stays open until the folder is stored."""

    saved = Signal(object)  # (Folder) as the user wants it; a new one has the id 0

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((_WIDTH_PX, 0), parent)
        self._folder = Folder(0, "")
        self._targets: list[TargetChoice | None] = [None]
        self.name = set_up(QLineEdit(self, maxLength=FOLDER_NAME_LENGTH), name=self.tr("Name"))
        self.problem = words("", self, kind="problem")
        self.problem.hide()
        example = self.tr("What the model is told before each chat of this folder. Empty: as in all chats.")
        prompt = QPlainTextEdit(self, placeholderText=example, tabChangesFocus=True)
        self.system_prompt = set_up(prompt, kind="field", name=self.tr("System prompt"))
        self.system_prompt.setFixedHeight(_PROMPT_PX)
        self.preset = self._combo(self.tr("Preset"))
        self.target = self._combo(self.tr("Model"))
        self.cancel_button = button(self.tr("Cancel"), "outlined", self, self.reject)
        self.save_button = button(self.tr("Save"), "primary", self, self._save)
        self.save_button.setDefault(True)
        self.name.textChanged.connect(self._forget_problem)
        self._arrange()

    def show_folder(
        self, folder: Folder, presets: Sequence[Preset], targets: Sequence[TargetChoice], about: str = ""
    ) -> None:
        """Shows a folder, a new one with the id 0. `targets` are the library's."""
        self._folder = folder
        self.setWindowTitle(self.tr("Folder settings") if folder.id else self.tr("New folder"))
        self.save_button.setText(self.tr("Save") if folder.id else self.tr("Create"))
        self.about.setText(about or self.tr("These apply to chats that you start in this folder."))
        self.name.setText(folder.name)
        self.system_prompt.setPlainText(folder.system_prompt or "")
        self._show_targets(targets)
        self.show_presets(presets, folder.preset_id)
        self._forget_problem()
        show_in_front(self)
        self.name.setFocus()
        self.name.selectAll()

    def show_presets(self, presets: Sequence[Preset], chosen: int | None) -> None:
        self.preset.clear()
        self.preset.addItem(self.tr("None"), None)
        for preset in presets:
            self.preset.addItem(preset.name, preset.id)
        self.preset.setCurrentIndex(max(0, self.preset.findData(chosen)))

    def show_problem(self, sentence: str) -> None:
        """Shows why the folder cannot be stored."""
        self.problem.setText(sentence)
        self.problem.show()
        self.name.setAccessibleDescription(sentence)
        self.name.setFocus()
        self.name.selectAll()

    def _show_targets(self, targets: Sequence[TargetChoice]) -> None:
        own = self._folder.target
        found = next((each for each in targets if own is not None and is_same_target(own, each)), own)
        self._targets = [None, *targets]
        if found is not None and found not in targets:
            self._targets.append(found)  # it is not in the library now
        self.target.clear()
        self.target.addItem(self.tr("Whichever is in use"))
        self.target.addItems([each.name for each in self._targets if each is not None])
        self.target.setCurrentIndex(self._targets.index(found))

    def _combo(self, name: str) -> QComboBox:
        combo = set_up(QComboBox(self), name=name)
        combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        combo.setMinimumContentsLength(_LIST_LENGTH)
        return combo

    def _arrange(self) -> None:
        self.about = words("", self, kind="quiet")
        rows = in_grid(
            [
                [words(self.tr("Preset"), self), self.preset],
                [words(self.tr("Model"), self), self.target],
            ],
            spacing=(14, 8),
            stretches=(0, 1),
        )
        contents: list[Part] = [
            words(self.tr("Name"), self, kind="title"),
            self.name,
            self.problem,
            self.about,
            words(self.tr("System prompt"), self, kind="title"),
            self.system_prompt,
            rows,
            Stretch(),
            Gap(4),
        ]
        fill_dialog(self, contents, [Stretch(), self.cancel_button, self.save_button], spacing=10)

    @Slot()
    def _save(self) -> None:
        name = " ".join(self.name.text().split())
        if not name:
            self.show_problem(self.tr("A folder needs a name."))
            return
        prompt = self.system_prompt.toPlainText().strip()
        target = self._targets[max(0, self.target.currentIndex())]
        self.saved.emit(Folder(self._folder.id, name, prompt or None, self.preset.currentData(), target))

    @Slot()
    def _forget_problem(self) -> None:
        self.problem.hide()
        self.name.setAccessibleDescription("")
