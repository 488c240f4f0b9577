"""Which drafter guesses ahead of the model: built-in, a folder, or one from the hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QDialog,
    QFileDialog,
    QGridLayout,
    QLineEdit,
    QProgressBar,
    QRadioButton,
    QWidget,
)

from app.dialogs.parts import button, words
from app.text.marked_words import QT_TRANSLATE_NOOP
from app.widgets.layouts import Stretch, in_column, in_row

_WIDTH_PX = 520
_PROGRESS_STEPS = 1_000
_ABOUT = QT_TRANSLATE_NOOP(
    "DrafterDialog",
    "The drafter guesses the next words, and your model checks them. Another drafter changes how fast replies come, "
    "not how good they are.",
)
_ABOUT_HUB = QT_TRANSLATE_NOOP(
    "DrafterDialog", "A small Llama-type model with safetensors. Downloaded once, then kept on this machine."
)


class DrafterDialog(QDialog):
    """Shows the choice in use and takes another one. It stays open while a drafter is downloaded; closing it does not
    end that.

    Signals:
        chosen(str): the built-in drafter's name, a folder, or a name on the hub.
        cancel_requested(): the download is to stop.
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
        self.folder = QLineEdit(self, placeholderText=self.tr("A model in Hugging Face's format"))
        self.folder.setAccessibleName(self.tr("Folder of the drafter"))
        self.folder.textEdited.connect(self._on_folder_edited)
        self.browse_button = button(self.tr("Choose…"), "outlined", self)
        self.browse_button.clicked.connect(self._browse)
        self.hub_name = QComboBox(self, editable=True)
        self.hub_name.addItems(list(hub_examples))
        self.hub_name.setAccessibleName(self.tr("Name on the hub, as owner/name"))
        self.hub_name.editTextChanged.connect(self._on_hub_edited)
        self.words = words("", self)
        self.progress = QProgressBar(self, textVisible=False)
        self.progress.setRange(0, _PROGRESS_STEPS)
        self.progress.setFixedHeight(4)
        self.progress.setAccessibleName(self.tr("Downloading the drafter"))
        self.cancel_button = button(self.tr("Stop the download"), "link", self)
        self.cancel_button.clicked.connect(self._on_cancel)
        self.use_button = button(self.tr("Use"), "outlined", self)
        self.use_button.setDefault(True)
        self.use_button.clicked.connect(self._on_use)
        self.close_button = button(self.tr("Close"), "outlined", self)
        self.close_button.clicked.connect(self.close)
        self._arrange()
        self.show_choice(built_in)
        self.show_downloading(False)

    def show_choice(self, choice: str, is_folder: bool = False) -> None:
        """What is in use now."""
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
        self.progress.setValue(round(share * _PROGRESS_STEPS))

    def _arrange(self) -> None:
        sources = QGridLayout()
        sources.setHorizontalSpacing(10)
        sources.setVerticalSpacing(8)
        sources.setColumnStretch(1, 1)
        sources.addWidget(self.built_in, 0, 0)
        sources.addWidget(self.from_folder, 1, 0)
        sources.addWidget(self.folder, 1, 1)
        sources.addWidget(self.browse_button, 1, 2)
        sources.addWidget(self.from_hub, 2, 0)
        sources.addWidget(self.hub_name, 2, 1, 1, 2)
        sources.addWidget(words(self.tr(_ABOUT_HUB), self, kind="faint"), 3, 1, 1, 2)
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
    def _on_folder_edited(self) -> None:
        self.from_folder.setChecked(True)

    @Slot()
    def _on_hub_edited(self) -> None:
        self.from_hub.setChecked(True)

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
