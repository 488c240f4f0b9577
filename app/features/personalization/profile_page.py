"""Profiles: what was learned, exported for another machine or imported from one."""

from __future__ import annotations

from datetime import date

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QFileDialog, QFrame, QWidget

from app.text.learned import ProfileView
from app.text.translation import QT_TRANSLATE_NOOP
from app.widgets.dialog_parts import InlineQuestion
from app.widgets.layouts import Placed, Stretch, in_column, in_row
from app.widgets.parts import button, line, set_up, words
from app.widgets.prompt.dropped_files import PROFILE_SUFFIX
from engine.values.places import expanded

_INDENT_PX = 24
_ABOUT_EXPORT = QT_TRANSLATE_NOOP(
    "ProfilePage",
    "Everything learned, in one file: for another computer, or as a backup. Your chats are not in it.",
)
_ABOUT_RECALL = QT_TRANSLATE_NOOP(
    "ProfilePage",
    "This is text that you typed, and replies. Share such a file only with people who may read your chats.",
)
_ABOUT_IMPORT = QT_TRANSLATE_NOOP(
    "ProfilePage", "Choose a file, or drop one here. You see what is inside before anything changes."
)
_ABOUT_MERGE = QT_TRANSLATE_NOOP(
    "ProfilePage",
    "Adds what is new. A snapshot in use stays in use.",
)


class ProfilePage(QWidget):
    """Asks for files, and shows what is in one before it is imported.

    Signals:
        export_requested(path, with_recall): write a profile.
        opened(path): show the contents of this profile.
        import_requested(replace): import the profile that is shown.
    """

    export_requested = Signal(str, bool)
    opened = Signal(str)
    import_requested = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.with_recall = QCheckBox(self.tr("Include text to reuse"), self)
        self.export_button = button(self.tr("Export…"), "outlined", self, self.choose_export)
        self.import_button = button(self.tr("Import…"), "outlined", self, self.choose_import)
        self.preview = set_up(QFrame(self), kind="card")
        self.name = words("", self.preview, kind="title")
        self.about = words(self.tr("This is inside; nothing is imported yet."), self.preview, kind="faint")
        self.headline = words("", self.preview, kind="quiet")
        self.contents = words("", self.preview)
        self.misfits = words("", self.preview, kind="quiet")
        merges, replaces = self.tr(_ABOUT_MERGE), self.tr("Replaces what was learned here.")
        self.about_merge = words(merges, self.preview, kind="faint")
        self.merge_button = button(
            self.tr("Merge"), "outlined", self.preview, lambda: self.import_requested.emit(False), tip=merges
        )
        self.replace_button = button(self.tr("Replace…"), "outlined", self.preview, self._on_replace, tip=replaces)
        self.cancel_button = button(self.tr("Cancel"), "", self.preview, self.close_preview)
        self.question = InlineQuestion(self.tr("Replace"), self.preview)
        self.question.confirmed.connect(self._on_replace_confirmed)
        self.question.refused.connect(self._show_buttons)
        self._replaced = ""
        self.choices = QWidget(self)  # hidden while the preview is shown
        self._arrange()
        self.preview.hide()

    def show_profile(self, name: str, view: ProfileView) -> None:
        """The contents of the file of that name, to be imported or not."""
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
        choices = in_row([self.cancel_button, Stretch(), self.replace_button, self.merge_button])
        about = (self.name, self.headline, self.about, self.contents, self.misfits, self.about_merge)
        in_column([*about, choices, self.question], inside=self.preview, margins=(16, 12, 16, 12), spacing=7)
        in_column([self.choices, self.preview, Stretch()], inside=self, margins=(0, 4, 12, 4))
        in_column(
            [
                words(self.tr("Export"), self, kind="title"),
                words(self.tr(_ABOUT_EXPORT), self, kind="quiet"),
                self.with_recall,
                about_recall,
                Placed(self.export_button, alignment=Qt.AlignmentFlag.AlignLeft),
                line(self),
                words(self.tr("Import"), self, kind="title"),
                words(self.tr(_ABOUT_IMPORT), self, kind="quiet"),
                Placed(self.import_button, alignment=Qt.AlignmentFlag.AlignLeft),
            ],
            inside=self.choices,
            spacing=10,
        )

    @Slot()
    def choose_export(self) -> None:
        chooser = self._chooser(self.tr("Export a profile"), QFileDialog.AcceptMode.AcceptSave)
        chooser.setDefaultSuffix(PROFILE_SUFFIX.lstrip("."))
        chooser.selectFile(f"slipstream-{date.today().isoformat()}{PROFILE_SUFFIX}")
        chooser.fileSelected.connect(lambda path: self.export_requested.emit(path, self.with_recall.isChecked()))
        chooser.open()

    @Slot()
    def choose_import(self) -> None:
        chooser = self._chooser(self.tr("Import a profile"), QFileDialog.AcceptMode.AcceptOpen)
        chooser.setFileMode(QFileDialog.FileMode.ExistingFile)
        chooser.fileSelected.connect(self.opened)
        chooser.open()

    def _chooser(self, title: str, mode: QFileDialog.AcceptMode) -> QFileDialog:
        """Modal to this window only, and deleted when it is closed."""
        kinds = self.tr("Slipstream profiles (*{suffix})").format(suffix=PROFILE_SUFFIX)
        chooser = QFileDialog(self, title, str(expanded("~")), kinds)
        chooser.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        chooser.setAcceptMode(mode)
        return chooser

    @Slot()
    def _on_replace(self) -> None:
        self._show_buttons(False)
        self.question.ask(" ".join((self.tr("Replace what was learned here?"), self._replaced)))

    @Slot()
    def _on_replace_confirmed(self) -> None:
        self._show_buttons()
        self.import_requested.emit(True)

    @Slot()
    def _show_buttons(self, shown: bool = True) -> None:
        for part in (self.cancel_button, self.replace_button, self.merge_button, self.about_merge):
            part.setVisible(shown)
