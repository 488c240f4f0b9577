"""The fields that a drafter is chosen with: who, and for which models."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QButtonGroup, QComboBox, QFileDialog, QLineEdit, QRadioButton, QSizePolicy, QWidget

from app.text.amounts import size_words
from app.text.drafters import NAMES
from app.text.translation import QT_TRANSLATE_NOOP, translate
from app.widgets.layouts import Placed, Stretch, in_column, in_grid, in_row
from app.widgets.parts import button, set_up, words
from engine import AUTOMATIC, BUILT_IN, STARTER, STARTER_TORCH
from engine.values.places import expanded
from engine.values.targets import LibraryTarget

_ABOUT_HUB = QT_TRANSLATE_NOOP(
    "DrafterChoiceForm",
    "OWNER/NAME is a small Llama-type model in safetensors, OWNER/NAME:FILE a GGUF file. It is downloaded once and "
    "stays on this computer.",
)
_WORDS = (
    (AUTOMATIC, QT_TRANSLATE_NOOP("DrafterChoiceForm", "Whichever should make replies fastest")),
    (BUILT_IN, QT_TRANSLATE_NOOP("DrafterChoiceForm", "The drafter that comes with Slipstream; it learns")),
    (
        STARTER,
        QT_TRANSLATE_NOOP("DrafterChoiceForm", "The starter model, as fast as this computer runs it; it learns"),
    ),
    (
        STARTER_TORCH,
        QT_TRANSLATE_NOOP("DrafterChoiceForm", "The starter model, run by torch, which is slower; it learns"),
    ),
)
_LEAST_COMBO = 24  # letters of a list; longer names are shortened


class DrafterChoiceForm(QWidget):
    """Holds a choice in words: `choice`, and whether it is for the model in use alone: `is_own`."""

    def __init__(self, hub_examples: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.ours = {word: set_up(QRadioButton(self._name(word), self), tip=self.tr(tip)) for word, tip in _WORDS}
        self.from_library = QRadioButton(self.tr("Model from the library"), self)
        self.from_path = QRadioButton(self.tr("File or folder"), self)
        self.from_hub = QRadioButton(self.tr("From the hub"), self)
        self._sources = QButtonGroup(self)
        for source in (*self.ours.values(), self.from_library, self.from_path, self.from_hub):
            self._sources.addButton(source)
        self.models = self._combo(self.tr("A model from the library that guesses ahead"))
        self.models.activated.connect(lambda: self.from_library.setChecked(True))
        example = self.tr("A GGUF file, or a folder in Hugging Face's format")
        path = QLineEdit(self, placeholderText=example)
        self.path = set_up(path, name=self.tr("Drafter file or folder"), tip=example)
        self.path.textEdited.connect(lambda: self.from_path.setChecked(True))
        self.file_button = button(self.tr("File…"), "outlined", self, self._browse_file)
        self.folder_button = button(self.tr("Folder…"), "outlined", self, self._browse_folder)
        self.hub_name = self._combo(self.tr("Name on the hub, as owner/name or owner/name:file"))
        self.hub_name.setEditable(True)
        self.hub_name.addItems(list(hub_examples))
        self.hub_name.editTextChanged.connect(lambda: self.from_hub.setChecked(True))
        self.scope = self._combo(self.tr("For these models"))
        self.scope.addItem(self.tr("All models"))
        self._arrange()
        self.show_models(())
        self.show_choice(AUTOMATIC)

    @property
    def choice(self) -> str:
        """The choice; empty while its field is."""
        for word, source in self.ours.items():
            if source.isChecked():
                return word
        if self.from_library.isChecked():
            return str(self.models.currentData() or "")
        if self.from_path.isChecked():
            path = self.path.text().strip()
            return str(expanded(path).absolute()) if path else ""  # never a name on the hub
        return self.hub_name.currentText().strip()

    @property
    def is_own(self) -> bool:
        return self.scope.currentIndex() == 1

    def show_models(self, models: Sequence[LibraryTarget]) -> None:
        """Lists the library's models that can draft; the chosen one stays chosen."""
        chosen = self.models.currentData()
        self.models.clear()
        for model in models:
            label = self.tr("{name}, {size}").format(name=model.name, size=size_words(model.size_bytes))
            self.models.addItem(label, str(model.path))
        self.models.setCurrentIndex(max(0, self.models.findData(chosen)))
        for part in (self.models, self.from_library):
            part.setEnabled(bool(models))
        nothing = self.tr("The library has no smaller model.")
        self.from_library.setToolTip("" if models else nothing)

    def show_choice(self, choice: str, is_here: bool = True) -> None:
        """`is_here`: not a name on the hub."""
        named = self.models.findText(
            self.tr("{name}, {size}").format(name=choice, size=""), Qt.MatchFlag.MatchStartsWith
        )
        place = max(self.models.findData(choice), named)
        if choice in self.ours:
            self.ours[choice].setChecked(True)
        elif place >= 0:
            self.models.setCurrentIndex(place)
            self.from_library.setChecked(True)
        elif is_here:
            self.path.setText(choice)
            self.from_path.setChecked(True)
        else:
            self.hub_name.setEditText(choice)
            self.from_hub.setChecked(True)

    def show_scope(self, model: str, is_own: bool) -> None:
        """`model`: the one in use; empty: none that a choice can be stored for."""
        while self.scope.count() > 1:
            self.scope.removeItem(1)
        if model:
            self.scope.addItem(self.tr("Only {model}").format(model=model))
        self.scope.setCurrentIndex(1 if model and is_own else 0)

    def begin(self) -> None:
        """Gives the keyboard to the checked choice."""
        checked = self._sources.checkedButton()
        assert checked is not None
        checked.setFocus()

    # Arrangement

    def _name(self, word: str) -> str:
        return translate("Drafters", NAMES[word])

    def _combo(self, name: str) -> QComboBox:
        combo = set_up(QComboBox(self), name=name)
        combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        combo.setMinimumContentsLength(_LEAST_COMBO)
        combo.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        return combo

    def _arrange(self) -> None:
        ours = in_row([*self.ours.values(), Stretch()], spacing=18)
        path = in_row([Placed(self.path, 1), self.file_button, self.folder_button], spacing=8)
        others = in_grid(
            [
                [self.from_library, self.models],
                [self.from_path, path],
                [self.from_hub, self.hub_name],
                [None, words(self.tr(_ABOUT_HUB), self, kind="faint")],
                [words(self.tr("For"), self), self.scope],
            ],
            spacing=(10, 8),
            stretches=(0, 1),
        )
        in_column([ours, others], inside=self, spacing=8)

    @Slot()
    def _browse_file(self) -> None:
        kinds = self.tr("Models (*.gguf)")
        self._take(QFileDialog.getOpenFileName(self, self.tr("Drafter file"), self.path.text(), kinds)[0])

    @Slot()
    def _browse_folder(self) -> None:
        self._take(QFileDialog.getExistingDirectory(self, self.tr("Drafter folder"), self.path.text()))

    def _take(self, path: str) -> None:
        if path:
            self.path.setText(path)
            self.from_path.setChecked(True)
