"""Has a conversation removed for good, when the user has said so twice."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QMessageBox

from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from engine import ForgetConversation, ReplyCommand
from engine.events import ConversationForgotten, Event, Failed, PromptKept, ReplyFinished, ReplyStarted


class ForgetController(QObject):
    """Connects the list of conversations with one engine."""

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._answering: int | None = None  # the conversation in which a reply is being written
        self._waiting: int | None = None  # to be forgotten when that reply has ended
        window.conversations.forget_requested.connect(self._ask)
        bridge.happened.connect(self._on_event, Qt.ConnectionType.QueuedConnection)

    @Slot(int)
    def _ask(self, conversation_id: int) -> None:
        row = self._window.conversations.model.row_of(conversation_id)
        if row is None:
            return
        title = self._window.conversations.model.summary(row).title
        box = QMessageBox(self._window)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle(self.tr("Forget at once"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(self.tr("Forget “{title}” for good?").format(title=title))
        goes = self.tr(
            "Its text is removed from this computer now, with what recall and learning keep of it. "
            "This cannot be undone."
        )
        stays = self.tr(
            "Adapters that were already learned stay, and so do n-grams: how often pieces of words followed each "
            "other, in all chats together."
        )
        box.setInformativeText(f"{goes}\n\n{stays}")
        forget = box.addButton(self.tr("Forget at once"), QMessageBox.ButtonRole.DestructiveRole)
        forget.setProperty("kind", "outlined")
        cancel = box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(cancel)
        box.setEscapeButton(cancel)
        forget.clicked.connect(lambda: self._forget(conversation_id))
        box.open()

    def _forget(self, conversation_id: int) -> None:
        if conversation_id == self._answering:  # its reply would have nowhere to go
            self._waiting = conversation_id
            self._window.prompt_box.stop_requested.emit()
        else:
            self._bridge.post(ForgetConversation(conversation_id))

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        match event:
            case PromptKept(message):
                self._answering = message.conversation_id
            case ReplyStarted(conversation_id):
                self._answering = conversation_id
            case ReplyFinished():
                self._on_reply_ended()
            case Failed(_, command) if isinstance(command, ReplyCommand):
                self._on_reply_ended()
            case ConversationForgotten(summary):
                self._window.toasts.show_info(self.tr("“{title}” is gone for good.").format(title=summary.title))

    def _on_reply_ended(self) -> None:
        self._answering = None
        if self._waiting is not None:
            self._bridge.post(ForgetConversation(self._waiting))
            self._waiting = None
