"""All that is learned from the user's chats, in one place: what it is, whether more is learned, and profiles of it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QFrame, QWidget

from app.features.personalization.compared_dialog import ComparedDialog
from app.features.personalization.forget_page import ForgetPage
from app.features.personalization.learned_page import LearnedPage
from app.features.personalization.learning_page import LearningPage
from app.features.personalization.profile_page import ProfilePage
from app.widgets.appearance import restyle
from app.widgets.dialog_parts import Dialog
from app.widgets.layouts import Placed, ScrollingPage, Stretch, in_column, in_row
from app.widgets.parts import Tabs, button, set_up, words
from app.widgets.prompt.dropped_files import DroppedFiles
from engine import LearningSettings

_SIZE_PX = (600, 560)


class PersonalDialog(Dialog):
    """Pages for the user's choices; below them, what is being done or its result.

    Signals:
        undo_requested(): take back what the last sentence says.
        profile_dropped(path): show the contents of this profile.
    """

    undo_requested = Signal()
    profile_dropped = Signal(str)

    def __init__(self, settings: LearningSettings, parent: QWidget | None = None) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("Personalization"))
        self.setAcceptDrops(True)
        self.learned = LearnedPage(self)
        self.compared = ComparedDialog(self)
        self.learning = LearningPage(settings, self)
        self.profile = ProfilePage(self)
        self.forget = ForgetPage(self)
        self.pages = Tabs(self)
        self._shown: dict[QWidget, QWidget] = {}  # what scrolls in a tab, by the page in it
        for page, name in (
            (self.learned, self.tr("What was learned")),
            (self.learning, self.tr("Learning")),
            (self.profile, self.tr("Profile")),
            (self.forget, self.tr("Forget")),
        ):
            self._shown[page] = page if page is self.learned else ScrollingPage(name, page, self)
            self.pages.addTab(self._shown[page], name)
        self.status = set_up(QFrame(self), kind="toast")
        self.words = words("", self.status)
        self.undo_button = button(self.tr("Undo"), "link", self.status, self.undo_requested)
        self.export_button = button(self.tr("Export…"), "outlined", self, self.profile.choose_export)
        self.import_button = button(self.tr("Import…"), "outlined", self, self.profile.choose_import)
        set_up(self.export_button, name=self.tr("Export a profile"))
        set_up(self.import_button, name=self.tr("Import a profile"))
        self.close_button = button(self.tr("Close"), "outlined", self, self.close)
        self._arrange()
        self.clear_words()

    def show_words(self, text: str, is_error: bool = False, can_undo: bool = False) -> None:
        """What is being done, or its result; a sentence."""
        self.words.setText(text)
        self.undo_button.setVisible(can_undo)
        restyle(self.status, level="error" if is_error else "info")
        self.status.show()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.words, text))

    def show_page(self, page: QWidget) -> None:
        self.pages.setCurrentWidget(self._shown[page])

    def clear_words(self) -> None:
        self.words.clear()
        self.status.hide()

    def set_busy(self, is_busy: bool) -> None:
        """Disables all actions while one is being carried out."""
        for each in (self.undo_button, self.export_button, self.import_button):
            each.setEnabled(not is_busy)
        for page in (self.learned, self.learning.practice, self.profile, self.forget):
            page.set_busy(is_busy)

    # Qt's own

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _profile(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = _profile(event)
        if path:
            event.acceptProposedAction()
            self.profile_dropped.emit(path)

    def _arrange(self) -> None:
        in_row(
            [Placed(self.words, 1), Placed(self.undo_button, alignment=Qt.AlignmentFlag.AlignTop)],
            inside=self.status,
            margins=(12, 8, 6, 8),
        )
        buttons = in_row([self.export_button, self.import_button, Stretch(), self.close_button])
        in_column([Placed(self.pages, 1), self.status, buttons], inside=self, margins=(18, 10, 18, 14), spacing=12)


def _profile(event: QDropEvent) -> str:
    """The path of the profile that is being dropped, if it is one."""
    dropped = DroppedFiles.of(event.mimeData())
    return "" if dropped is None else dropped.profile
