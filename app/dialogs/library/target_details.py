"""All there is to know about one model of the library, and what can be done with it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFormLayout, QFrame, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from app.amounts import count_words, day_words, size_words
from app.dialogs.library.options_form import OptionsForm
from app.dialogs.parts import button, words
from app.models.library_model import target_title
from app.widgets.kinds import set_kind
from app.widgets.scrolling_page import ScrollingPage
from engine import SamplingSettings
from engine.records import LibraryTarget

_UNKNOWN = "not told by the file"
_NAMES = (
    "Name",
    "Architecture",
    "Parameters",
    "Quantization",
    "Trained context",
    "Vocabulary",
    "Chat template",
    "Licence",
    "Speed-up",
    "Size",
    "Last used",
)


class TargetDetailsView(ScrollingPage):
    """Shows one target, with its options below.

    Signals:
        use_requested(), folder_requested(), remove_requested(): as its buttons say, of the target shown.
    """

    use_requested = Signal()
    folder_requested = Signal()
    remove_requested = Signal()

    def __init__(self, sampling_for_all: SamplingSettings, parent: QWidget | None = None) -> None:
        super().__init__("About the model", parent=parent)
        self._target: LibraryTarget | None = None
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Tab goes through what is in it, and scrolls
        inside = self._inside = QWidget(self)
        inside.setObjectName("inside")
        self.title = _Title(inside)
        self.state = words("", inside, kind="quiet")
        self.use_button = button("Use", "primary", inside)
        self.folder_button = button("Show in folder", "outlined", inside)
        self.remove_button = button("Remove…", "outlined", inside)
        self.use_button.clicked.connect(self._on_use)
        self.folder_button.clicked.connect(self._on_folder)
        self.remove_button.clicked.connect(self._on_remove)
        self.facts = self._make_facts()
        self.form = OptionsForm(sampling_for_all, inside)
        self.line = QFrame(inside)
        self.line.setProperty("kind", "line")
        self.line.setFixedHeight(1)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for each in (self.use_button, self.folder_button, self.remove_button):
            buttons.addWidget(each)
        buttons.addStretch(1)
        column = QVBoxLayout(inside)
        column.setContentsMargins(18, 4, 18, 14)
        column.setSpacing(10)
        column.addWidget(self.title)
        column.addWidget(self.state)
        column.addLayout(buttons)
        column.addLayout(self.facts)
        column.addWidget(self.line)
        column.addWidget(self.form)
        column.addStretch(1)
        self.setWidget(inside)

    @property
    def target(self) -> LibraryTarget | None:
        return self._target

    def show_target(self, target: LibraryTarget, is_in_use: bool) -> None:
        """The options that are being changed stay as they are, if it is the same target as before."""
        is_another = self._target is None or self._target.path != target.path
        if is_another:
            self.form.flush()  # counts for the one before
        before, self._target = self._target, target
        self.title.set_words(target_title(target))
        self.state.setText(_state(target, is_in_use))
        set_kind(self.state, "error" if target.problem else "quiet")
        self.use_button.setEnabled(not target.problem and not is_in_use)
        self.use_button.setText("In use" if is_in_use else "Use")
        self.remove_button.setEnabled(not target.is_starter)
        self.remove_button.setToolTip("The starter belongs to Slipstream and stays." if target.is_starter else "")
        if before != target:
            self._show_facts(target)
        for part in (self.line, self.form):  # nothing is set for what cannot be read
            part.setVisible(target.details is not None)
        if is_another:
            trained = target.details.trained_context if target.details else 0
            self.form.show_options(target.options, trained)
            self.form.show_no_estimate()
            self.verticalScrollBar().setValue(0)

    def _make_facts(self) -> QFormLayout:
        facts = QFormLayout()
        facts.setHorizontalSpacing(16)
        facts.setVerticalSpacing(5)
        facts.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        facts.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self.values = [words("", self._inside) for _ in _NAMES]
        for name, value in zip(_NAMES, self.values, strict=True):
            facts.addRow(words(name, self._inside, kind="quiet"), value)
        self.file = QLineEdit(self._inside)  # a path has no spaces to break at, and is to be copied as it is
        self.file.setReadOnly(True)
        self.file.setProperty("kind", "fact")
        self.file.setTextMargins(-2, 0, 0, 0)
        self.file.setAccessibleName("File")
        facts.addRow(words("File", self._inside, kind="quiet"), self.file)
        return facts

    def _show_facts(self, target: LibraryTarget) -> None:
        told = _facts(target)
        for row, name in enumerate(_NAMES):
            self.values[row].setText(told.get(name, ""))
            self.facts.setRowVisible(row, name in told)
        self.file.setText(str(target.path))
        self.file.setToolTip(str(target.path))
        self.file.setCursorPosition(0)

    @Slot()
    def _on_use(self) -> None:
        self.use_requested.emit()

    @Slot()
    def _on_folder(self) -> None:
        self.folder_requested.emit()

    @Slot()
    def _on_remove(self) -> None:
        self.remove_requested.emit()


class _Title(QLabel):
    """A name that may break at its dots and dashes: names of files have no spaces."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "heading")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)

    def set_words(self, text: str) -> None:
        self.setText("".join(f"{letter}\u200b" if letter in "-_." else letter for letter in text))
        self.setAccessibleName(text)


def _state(target: LibraryTarget, is_in_use: bool) -> str:
    if target.problem:
        return target.problem
    about = target.details.speculation if target.details else ""
    return " ".join(filter(None, ("This model answers now." if is_in_use else "", about)))


def _facts(target: LibraryTarget) -> dict[str, str]:
    used = day_words(target.last_used_at) if target.last_used_at else "never"
    file = {"Size": size_words(target.size_bytes), "Last used": used}
    details = target.details
    if details is None:
        return file
    vocabulary = f"{details.vocabulary_size:,} tokens" if details.vocabulary_size else ""
    return {
        "Name": details.name or _UNKNOWN,
        "Architecture": details.architecture or _UNKNOWN,
        "Parameters": count_words(details.num_parameters) if details.num_parameters else _UNKNOWN,
        "Quantization": details.quantization or _UNKNOWN,
        "Trained context": f"{details.trained_context:,} tokens" if details.trained_context else _UNKNOWN,
        "Vocabulary": ", ".join(filter(None, (vocabulary, details.vocabulary_kind))) or _UNKNOWN,
        "Chat template": "in the file" if details.has_chat_template else "none; ChatML is used",
        "Licence": details.licence or _UNKNOWN,
        "Speed-up": "yes" if details.can_speculate else "no",
        **file,
    }
