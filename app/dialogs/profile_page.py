"""Carries what was learned to another machine, and takes in what was learned there."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QFileDialog, QFrame, QVBoxLayout, QWidget

from app.dialogs.parts import Question
from app.text.learned import ProfileView
from app.text.marked_words import QT_TRANSLATE_NOOP
from app.widgets.dropped_files import PROFILE_SUFFIX
from app.widgets.layouts import Placed, Stretch, in_column, in_row
from app.widgets.parts import button, words

_INDENT_PX = 24
_ABOUT_EXPORT = QT_TRANSLATE_NOOP(
    "ProfilePage",
    "All that was learned, in one file: for another machine of yours, or to come back to. Chats are not in it.",
)
_ABOUT_RECALL = QT_TRANSLATE_NOOP(
    "ProfilePage",
    "These are texts that you typed, and replies. Give such a file only to whom you would show your chats.",
)
_ABOUT_IMPORT = QT_TRANSLATE_NOOP(
    "ProfilePage", "Choose a file, or drop one here. You see what is inside before anything changes."
)
_ABOUT_MERGE = QT_TRANSLATE_NOOP(
    "ProfilePage",
    "Adds what is not known here. An adapter that is in use already stays in use: your own chats judged it.",
)


class ProfilePage(QWidget):
    """Asks for files, shows what is in one.

    Signals:
        export_requested(path, with_recall)
        opened(path): what is in this profile is to be shown.
        import_requested(replace): of the profile that is shown.
    """

    export_requested = Signal(str, bool)
    opened = Signal(str)
    import_requested = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.with_recall = QCheckBox(self.tr("Include what recall remembers"), self)
        self.export_button = button(self.tr("Export…"), "outlined", self)
        self.export_button.clicked.connect(self._choose_export)
        self.import_button = button(self.tr("Import…"), "outlined", self)
        self.import_button.clicked.connect(self._choose_import)
        self.preview = QFrame(self)
        self.preview.setProperty("kind", "card")
        self.name = words("", self.preview, kind="title")
        self.about = words(self.tr("What is inside; nothing is imported yet."), self.preview, kind="faint")
        self.headline = words("", self.preview, kind="quiet")
        self.contents = words("", self.preview)
        self.misfits = words("", self.preview, kind="quiet")
        self.about_merge = words(self.tr(_ABOUT_MERGE), self.preview, kind="faint")
        self.merge_button = button(self.tr("Merge"), "outlined", self.preview)
        self.merge_button.setToolTip(self.tr(_ABOUT_MERGE))
        self.merge_button.clicked.connect(self._on_merge)
        self.replace_button = button(self.tr("Replace…"), "outlined", self.preview)
        self.replace_button.setToolTip(self.tr("Puts it in the place of what was learned here."))
        self.replace_button.clicked.connect(self._on_replace)
        self.cancel_button = button(self.tr("Cancel"), "", self.preview)
        self.cancel_button.clicked.connect(self.close_preview)
        self.question = Question(self.tr("Replace"), self.preview)
        self.question.confirmed.connect(self._on_replace_confirmed)
        self.question.refused.connect(self._show_buttons)
        self._replaced = ""
        self.choices = QWidget(self)  # what gives way to the preview
        self._arrange()
        self.preview.hide()

    def show_profile(self, name: str, view: ProfileView) -> None:
        """What is in the file of that name, to be imported or not."""
        self.name.setText(name)
        self.headline.setText(view.headline)
        self.contents.setText("\n".join(view.contents))
        self.misfits.setText("\n".join(view.misfits))
        self.misfits.setVisible(bool(view.misfits))
        self._replaced = view.replaced
        self.question.hide()
        self._show_buttons()
        self.choices.hide()
        self.preview.show()
        self.merge_button.setFocus()

    @Slot()
    def close_preview(self) -> None:
        self.preview.hide()
        self.question.hide()
        self.choices.show()
        self.import_button.setFocus()

    def set_busy(self, is_busy: bool) -> None:
        for part in (self.export_button, self.import_button, self.preview):
            part.setEnabled(not is_busy)

    def _arrange(self) -> None:
        about_recall = words(self.tr(_ABOUT_RECALL), self, kind="faint")
        about_recall.setContentsMargins(_INDENT_PX, 0, 0, 0)
        line = QFrame(self)
        line.setProperty("kind", "line")
        line.setFixedHeight(1)
        choices = in_row([self.cancel_button, Stretch(), self.replace_button, self.merge_button])
        inside = QVBoxLayout(self.preview)
        inside.setContentsMargins(16, 12, 16, 12)
        inside.setSpacing(7)
        for part in (self.name, self.headline, self.about, self.contents, self.misfits, self.about_merge):
            inside.addWidget(part)
        inside.addLayout(choices)
        inside.addWidget(self.question)
        in_column([self.choices, self.preview, Stretch()], inside=self, margins=(0, 4, 12, 4))
        in_column(
            [
                words(self.tr("Export"), self, kind="title"),
                words(self.tr(_ABOUT_EXPORT), self, kind="quiet"),
                self.with_recall,
                about_recall,
                Placed(self.export_button, alignment=Qt.AlignmentFlag.AlignLeft),
                line,
                words(self.tr("Import"), self, kind="title"),
                words(self.tr(_ABOUT_IMPORT), self, kind="quiet"),
                Placed(self.import_button, alignment=Qt.AlignmentFlag.AlignLeft),
            ],
            inside=self.choices,
            spacing=10,
        )

    @Slot()
    def _choose_export(self) -> None:
        chooser = self._chooser(self.tr("Export a profile"), QFileDialog.AcceptMode.AcceptSave)
        chooser.setDefaultSuffix(PROFILE_SUFFIX.lstrip("."))
        chooser.selectFile(f"slipstream-{date.today().isoformat()}{PROFILE_SUFFIX}")
        chooser.fileSelected.connect(self._on_export_chosen)
        chooser.open()

    @Slot()
    def _choose_import(self) -> None:
        chooser = self._chooser(self.tr("Import a profile"), QFileDialog.AcceptMode.AcceptOpen)
        chooser.setFileMode(QFileDialog.FileMode.ExistingFile)
        chooser.fileSelected.connect(self.opened)
        chooser.open()

    def _chooser(self, title: str, mode: QFileDialog.AcceptMode) -> QFileDialog:
        """Window-modal, and gone when it is closed: the app goes on meanwhile."""
        kinds = self.tr("Slipstream profiles (*{suffix})").format(suffix=PROFILE_SUFFIX)
        chooser = QFileDialog(self, title, str(Path.home()), kinds)
        chooser.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        chooser.setAcceptMode(mode)
        return chooser

    @Slot(str)
    def _on_export_chosen(self, path: str) -> None:
        self.export_requested.emit(path, self.with_recall.isChecked())

    @Slot()
    def _on_merge(self) -> None:
        self.import_requested.emit(False)

    @Slot()
    def _on_replace(self) -> None:
        for part in (self.cancel_button, self.replace_button, self.merge_button, self.about_merge):
            part.hide()
        self.question.ask(" ".join((self.tr("Replace what was learned here?"), self._replaced)))

    @Slot()
    def _on_replace_confirmed(self) -> None:
        self._show_buttons()
        self.import_requested.emit(True)

    @Slot()
    def _show_buttons(self) -> None:
        for part in (self.cancel_button, self.replace_button, self.merge_button, self.about_merge):
            part.show()
