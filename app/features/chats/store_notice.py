"""Says, as long as it is so, that the store does not take what is written."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QGuiApplication, QSessionManager
from PySide6.QtWidgets import QMessageBox

from app.engine_bridge import EngineBridge
from app.features.controller import Controller
from app.main_window import MainWindow
from app.widgets.dialog_parts import ask, question_box, show_in_front
from app.widgets.parts import button
from engine.values.conversations import Message
from engine.values.events import EverythingForgotten, StoreBehind
from engine.values.prompts import with_names

SUBJECT = "store"


class StoreNotice(Controller):
    """A bar with the reason, and buttons to copy what is in memory alone and to try again. The engine tries again by
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
        """Where the desktop lets programs ask before the user is logged off."""
        if not self._may_close() and session.allowsInteraction():
            session.cancel()

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText("\n\n".join(with_names(message.text) for message in self._unstored))

    @Slot()
    def _try_again(self) -> None:
        self._bridge.ask(self._bridge.engine.keeper.store_held, by_hand=True)
