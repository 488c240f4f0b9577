"""Notices about replies: one is ready, waits for the user, or repeats itself without end."""

from __future__ import annotations

from time import monotonic

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QApplication, QWidget

from app.engine_bridge import EngineBridge
from app.features.chat.chat import ChatController
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller, WindowPart
from app.main_window import MainWindow
from app.models.conversations import title_words
from app.settings.keeper import SettingsKeeper
from app.theme import app_icon
from app.widgets.notice_bar import DesktopNotice
from engine.values.conversations import Message
from engine.values.events import ReplyFinished, ToolAsked
from engine.values.replies import StopReason


class Notifier(Controller):
    """Shows a desktop notice when a long reply is ready or a tool call waits, but only while no window of the app is
    active. A click leads to the chat."""

    def __init__(
        self,
        window: MainWindow,
        bridge: EngineBridge,
        keeper: SettingsKeeper,
        chat: ChatController,
        notice: DesktopNotice | None = None,
    ) -> None:
        super().__init__(window, bridge)
        self._keeper = keeper
        self._notice = notice or DesktopNotice(window, app_icon())
        self._begun_s: float | None = None  # when the answer was asked for
        self._conversation_id: int | None = None  # of the reply that the notice is about
        self._notice.clicked.connect(self._open)
        window.closing.connect(self._forget)
        chat.began.connect(self._on_began)
        chat.ended.connect(self._on_ended)
        bridge.listen(ReplyFinished, self._on_finished)
        bridge.listen(ToolAsked, self._on_asked)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._on_focus_changed)

    @Slot()
    def _on_began(self) -> None:
        self._begun_s = monotonic()

    @Slot()
    def _on_ended(self) -> None:
        self._begun_s = None

    def _on_finished(self, event: ReplyFinished) -> None:
        message = event.message
        if message.calls:  # the answer goes on
            return
        settings = self._keeper.settings
        took_s = 0.0 if self._begun_s is None else monotonic() - self._begun_s
        if settings.notify and took_s >= settings.notify_after_s and QApplication.activeWindow() is None:
            self._conversation_id = message.conversation_id
            self._notice.show(self._title(message), self._text(message.conversation_id))

    def _on_asked(self, event: ToolAsked) -> None:
        """Nothing goes on until the user answers."""
        if self._keeper.settings.notify and QApplication.activeWindow() is None:
            self._conversation_id = event.conversation_id
            self._notice.show(self.tr("The model waits for your answer"), self._asked_in(event.conversation_id))

    def _title(self, message: Message) -> str:
        if message.statistics is not None and message.statistics.stop_reason is StopReason.FAILED:
            return self.tr("A reply was interrupted")
        return self.tr("A reply is ready")

    def _text(self, conversation_id: int) -> str:
        return self._chat(conversation_id) or self.tr("Slipstream has answered you.")

    def _asked_in(self, conversation_id: int) -> str:
        return self._chat(conversation_id) or self.tr("It asks whether it may use a tool.")

    def _chat(self, conversation_id: int) -> str:
        """The title of the chat, but nothing that was written: others may see the notice."""
        summary = self._window.conversations.model.find(conversation_id)
        return "" if summary is None or summary.incognito else title_words(summary.title)

    @Slot()
    def _open(self) -> None:
        conversation_id = self._conversation_id
        self._forget()
        self._window.come_forward()
        if conversation_id is not None:
            self._window.conversations.chosen.emit(conversation_id)

    @Slot(QWidget, QWidget)
    def _on_focus_changed(self, _old: QWidget | None, new: QWidget | None) -> None:
        if new is not None:  # the user is back
            self._forget()

    @Slot()
    def _forget(self) -> None:
        self._conversation_id = None
        self._notice.hide()


SUBJECT = "repetition"


class RepetitionController(WindowPart):
    """Shows a notice in the chat of the reply until it ends, or the user dismisses it. Nothing is stopped unasked."""

    def __init__(self, window: MainWindow, conversations: ConversationsController, chat: ChatController) -> None:
        super().__init__(window)
        self._conversations = conversations
        self._repeats_in: int | None = None  # the chat of the reply; None: there is nothing to tell
        conversations.moved.connect(self._show)
        chat.repeats.connect(self._begin)
        chat.ended.connect(self._end)

    @Slot(int)
    def _begin(self, conversation_id: int) -> None:
        self._repeats_in = conversation_id
        self._show()

    @Slot()
    def _show(self) -> None:
        if self._repeats_in is None or self._repeats_in != self._conversations.open_id:
            self._window.notices.dismiss(SUBJECT)
            return
        stop = (self.tr("Stop"), self._window.stop_action.trigger)
        bar = self._window.notices.show_notice(SUBJECT, self.tr("This reply keeps repeating itself."), [stop])
        bar.closed.connect(self._end)

    @Slot()
    def _end(self) -> None:
        self._repeats_in = None
        self._show()
