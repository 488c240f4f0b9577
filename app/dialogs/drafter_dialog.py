"""The choice of a drafter: the built-in one, a folder, or one from the hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QButtonGroup, QComboBox, QDialog, QFileDialog, QLineEdit, QRadioButton, QWidget

from app.text.translation import QT_TRANSLATE_NOOP
from app.widgets.layouts import Placed, Stretch, in_column, in_grid, in_row
from app.widgets.parts import ProgressLine, button, set_up, words

_WIDTH_PX = 520
_ABOUT = QT_TRANSLATE_NOOP(
    "DrafterDialog",
    "The drafter guesses the next words, and your model checks them. Another drafter changes how fast replies come, "
    "not how good they are.",
)
_ABOUT_HUB = QT_TRANSLATE_NOOP(
    "DrafterDialog", "A small Llama-type model with safetensors. Downloaded once, then kept on this machine."
)


class DrafterDialog(QDialog):
    """Shows the choice in use and takes another one. It stays open while a drafter is downloaded; the download goes on
    when it is closed.

    Signals:
        chosen(str): the built-in drafter's name, a folder, or a name on the hub.
        cancel_requested(): stop the download.
    """

    chosen = Signal(str)
    cancel_requested = Signal()

    def __init__(self, built_in: str, hub_examples: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Drafter"))
        self.setMinimumWidth(_WIDTH_PX)
        self._built_in_name = built_in
        self.built_in = QRadioButton(self.tr("Built-in"), self)
        self.from_folder = QRadioButton(self.tr("Folder"), self)
        self.from_hub = QRadioButton(self.tr("From the hub"), self)
        self._sources = QButtonGroup(self)
        for source in (self.built_in, self.from_folder, self.from_hub):
            self._sources.addButton(source)
        folder = QLineEdit(self, placeholderText=self.tr("A model in Hugging Face's format"))
        self.folder = set_up(folder, name=self.tr("Folder of the drafter"))
        self.folder.textEdited.connect(lambda: self.from_folder.setChecked(True))
        self.browse_button = button(self.tr("Choose…"), "outlined", self, self._browse)
        self.hub_name = set_up(QComboBox(self, editable=True), name=self.tr("Name on the hub, as owner/name"))
        self.hub_name.addItems(list(hub_examples))
        self.hub_name.editTextChanged.connect(lambda: self.from_hub.setChecked(True))
        self.words = words("", self)
        self.progress = ProgressLine(self.tr("Downloading the drafter"), self)
        self.cancel_button = button(self.tr("Stop the download"), "link", self, self._on_cancel)
        self.use_button = button(self.tr("Use"), "outlined", self, self._on_use)
        self.use_button.setDefault(True)
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        self._arrange()
        self.show_choice(built_in)
        self.show_downloading(False)

    def show_choice(self, choice: str, is_folder: bool = False) -> None:
        """The drafter in use."""
        if choice == self._built_in_name:
            self.built_in.setChecked(True)
        elif is_folder:
            self.folder.setText(choice)
            self.from_folder.setChecked(True)
        else:
            self.hub_name.setEditText(choice)
            self.from_hub.setChecked(True)

    def show_words(self, words: str) -> None:
        """What the drafter does, how far the download is, or what went wrong; a sentence."""
        self.words.setText(words)

    def show_downloading(self, downloading: bool) -> None:
        self.progress.setVisible(downloading)
        self.cancel_button.setVisible(downloading)
        self.cancel_button.setEnabled(downloading)
        self.use_button.setEnabled(not downloading)
        if not downloading:
            self.progress.setValue(0)

    def show_progress(self, share: float) -> None:
        """`share` of the download that is done, 0 … 1."""
        self.progress.show_share(share)

    def _arrange(self) -> None:
        sources = in_grid(
            [
                [self.built_in],
                [self.from_folder, self.folder, self.browse_button],
                [self.from_hub, Placed(self.hub_name, columns=2)],
                [None, Placed(words(self.tr(_ABOUT_HUB), self, kind="faint"), columns=2)],
            ],
            spacing=(10, 8),
            stretches=(0, 1),
        )
        buttons = in_row([self.cancel_button, Stretch(), self.close_button, self.use_button])
        in_column(
            [words(self.tr(_ABOUT), self, kind="quiet"), sources, self.words, self.progress, Stretch(), buttons],
            inside=self,
            margins=(18, 16, 18, 14),
            spacing=12,
        )

    @Slot()
    def _browse(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.tr("Folder of a drafter"), self.folder.text())
        if folder:
            self.folder.setText(folder)
            self.from_folder.setChecked(True)

    @Slot()
    def _on_use(self) -> None:
        if self.built_in.isChecked():
            self.chosen.emit(self._built_in_name)
        elif self.from_folder.isChecked():
            folder = self.folder.text().strip()
            self.chosen.emit(str(Path(folder).expanduser().absolute()) if folder else "")  # never a name on the hub
        else:
            self.chosen.emit(self.hub_name.currentText().strip())

    @Slot()
    def _on_cancel(self) -> None:
        self.cancel_button.setEnabled(False)  # the network may be silent for some seconds
        self.cancel_requested.emit()
