"""What the user sees while the store cannot be opened, or does not take what is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QGuiApplication, QSessionManager
from PySide6.QtWidgets import QLabel, QMessageBox, QWidget

from app.engine_bridge import EngineBridge
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller, open_folder
from app.main_window import MainWindow
from app.widgets.dialog_parts import Dialog, ask, fill_dialog, question_box, show_in_front
from app.widgets.layouts import Part, Stretch
from app.widgets.parts import button, set_up, words
from engine.values.conversations import Message
from engine.values.events import ConversationsListed, EverythingForgotten, StoreBehind
from engine.values.prompts import with_names

_WIDTH_PX = 520


class StoreDialog(Dialog):
    """Says what is wrong, and stays until it works or the user gives up."""

    retried = Signal()  # try again
    folder_requested = Signal()  # show the folder of the store
    quit_requested = Signal()  # end the app

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((_WIDTH_PX, 0), parent)
        self.setWindowTitle(self.tr("Your chats cannot be opened"))
        heading = set_up(QLabel(self.windowTitle(), self), kind="title")
        self.sentence = words("", self)
        calm = words(self.tr("Nothing was changed or deleted."), self, kind="quiet")
        self.retry_button = button(self.tr("Try again"), "outlined", self, self._on_retry)
        self.retry_button.setDefault(True)
        self.folder_button = button(self.tr("Open the folder"), "outlined", self, self.folder_requested)
        self.quit_button = button(self.tr("Quit"), "outlined", self, self.quit_requested)
        buttons: list[Part] = [self.folder_button, Stretch(), self.quit_button, self.retry_button]
        fill_dialog(self, [heading, self.sentence, calm, Stretch()], buttons, spacing=12)

    def show_sentence(self, sentence: str) -> None:
        """Shows what is wrong and what to do about it."""
        self.sentence.setText(sentence)
        self.retry_button.setEnabled(True)

    @Slot()
    def _on_retry(self) -> None:
        self.retry_button.setEnabled(False)  # until there is an answer
        self.retried.emit()


SUBJECT = "store"


class StoreNotice(Controller):
    """A bar with the reason, and buttons to copy what exists only in memory and to try again. The engine tries again by
    itself, too. The window is not closed with such messages in it, nor the session ended, unless the user says so."""

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window, bridge)
        self._sentence = ""
        self._unstored: tuple[Message, ...] = ()
        self._question: QMessageBox | None = None  # while it is asked
        self._is_closing = False  # the user said so
        window.may_close = self._may_close
        application = QGuiApplication.instance()
        assert isinstance(application, QGuiApplication)
        application.commitDataRequest.connect(self._on_session_ending)
        bridge.listen(StoreBehind, self._on_behind)
        bridge.listen(EverythingForgotten, self._on_everything_forgotten)

    def _on_behind(self, event: StoreBehind) -> None:
        self._show(event.sentence, event.unstored)

    def _on_everything_forgotten(self, _event: EverythingForgotten) -> None:
        self._show("", ())

    def _show(self, sentence: str, unstored: tuple[Message, ...]) -> None:
        self._sentence, self._unstored = sentence, unstored
        if self._question is not None and not unstored:
            self._question.close()
            self._close()  # as was asked for
        if not sentence:
            self._window.notices.dismiss(SUBJECT)
            return
        actions = (
            (self.tr("Copy"), self._copy),
            (self.tr("Try again"), self._try_again),
        )
        kept = self.tr("Messages that are not stored yet stay in this window and are stored as soon as possible.")
        self._window.notices.show_notice(SUBJECT, f"{sentence} {kept}", actions if self._unstored else ())

    def _may_close(self) -> bool:
        if self._is_closing or not self._unstored:
            return True
        if self._question is None:
            lost = self.tr(
                "(One message is|%n messages are) not stored yet and will be lost if you close Slipstream.",
                "",
                len(self._unstored),
            )
            self._question = box = question_box(self._window, self.tr("Close Slipstream"), lost, self._sentence)
            copy = button(self.tr("Copy and close"), "outlined", box, self._copy)
            box.addButton(copy, QMessageBox.ButtonRole.AcceptRole)
            box.finished.connect(self._on_answered)
            ask(box, self.tr("Close anyway"), self._close, self.tr("Keep open"))
        show_in_front(self._question)
        return False

    @Slot()
    def _on_answered(self) -> None:
        self._question = None

    @Slot()
    def _close(self) -> None:
        self._is_closing = True
        self._window.close()

    @Slot(QSessionManager)
    def _on_session_ending(self, session: QSessionManager) -> None:
        """Keeps the session open, if the desktop lets programs ask before logging off."""
        if not self._may_close() and session.allowsInteraction():
            session.cancel()

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText("\n\n".join(with_names(message.text) for message in self._unstored))

    @Slot()
    def _try_again(self) -> None:
        self._bridge.ask(self._bridge.engine.keeper.store_held, by_hand=True)


class StoreTrouble(Controller):
    """Shows a dialog while the store of chats cannot be opened: until the conversations are listed for the first time.
    `begin` starts the app once more."""

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        conversations: ConversationsController,
        data_dir: Path,
        begin: Callable[[], None],
    ) -> None:
        super().__init__(window, bridge)
        self._data_dir = data_dir
        self._begin = begin
        self.dialog: StoreDialog | None = None
        conversations.not_listed.connect(self._show)
        window.toasts.error_shown.connect(self._on_error_shown)
        bridge.listen(ConversationsListed, self._on_listed)

    def _on_listed(self, _event: ConversationsListed) -> None:
        if self.dialog is not None:
            self._window.toasts.clear_errors()
            self.dialog.close()
            self.dialog.deleteLater()
            self.dialog = None

    @Slot(str)
    def _on_error_shown(self, sentence: str) -> None:
        if self.dialog is not None and sentence == self.dialog.sentence.text():
            self._window.toasts.clear_errors()  # the model needs the store as well

    @Slot(str)
    def _show(self, sentence: str) -> None:
        if self.dialog is None:
            self.dialog = StoreDialog(self._window)
            self.dialog.retried.connect(self._begin)
            self.dialog.folder_requested.connect(self._open_folder)
            self.dialog.quit_requested.connect(self._window.close)
        self._window.toasts.clear_errors()  # the dialog says the same, and better
        self.dialog.show_sentence(sentence)
        self.dialog.open()

    @Slot()
    def _open_folder(self) -> None:
        folder = self._data_dir if self._data_dir.is_dir() else self._data_dir.parent
        open_folder(folder)
