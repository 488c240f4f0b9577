"""The settings of one conversation: its system prompt and its own sampling."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Slot

from app.engine_bridge import EngineBridge, Request
from app.features.chat.chat import ChatController, NextChat
from app.features.chat.conversation_dialog import ConversationDialog
from app.features.chats.conversations import ConversationsController
from app.features.controller import Controller
from app.main_window import MainWindow
from app.text.places import place_words
from app.widgets.dialog_parts import show_in_front
from engine import OwnSampling
from engine.values.conversations import Conversation


class ChatSettingsController(Controller):
    """Shows and changes the settings of the open conversation, or of the next one before it begins."""

    def __init__(
        self, window: MainWindow, bridge: EngineBridge, conversations: ConversationsController, chat: ChatController
    ) -> None:
        super().__init__(window, bridge)
        self._conversations = conversations
        self._chat = chat
        self._reading: Request[Conversation] | None = None  # the conversation that the dialog waits for
        self._shown: int | None = None  # the conversation that the dialog shows; None: the next one
        self.dialog = ConversationDialog(window)
        self.dialog.saved.connect(self._save)
        self.dialog.grammar_entered.connect(self._check_grammar)
        window.conversation_action.triggered.connect(self._open)
        conversations.moved.connect(self._on_moved)

    @Slot()
    def _open(self) -> None:
        if self.dialog.isVisible():
            show_in_front(self.dialog)
            return
        if self._conversations.open_id is not None:
            self._drop_reading()
            self._reading = self._conversations.read(self._conversations.open_id)  # it may have changed since
            self._reading.answered.connect(self._show_conversation)
            return
        self._shown = None
        about = self.tr("Applies only to the next chat you start.")
        self._show(self.tr("Settings of the new chat"), about, self._chat.new_chat)

    def _show_conversation(self, conversation: Conversation) -> None:
        self._shown = conversation.summary.id
        about = self.tr("Applies only to the chat “{title}”, from its next reply on.")
        about = about.format(title=conversation.summary.title)
        if conversation.servers:
            places = ", ".join(map(place_words, conversation.servers))
            about = f"{about}\n{self.tr('Sent to: {places}').format(places=places)}"
        self._show(self.tr("Settings of this chat"), about, conversation)

    @Slot(str)
    def _check_grammar(self, text: str) -> None:
        request = self._bridge.ask(self._bridge.engine.files.check_grammar, text)
        request.answered.connect(partial(self.dialog.show_grammar_check, text))

    @Slot()
    def _on_moved(self) -> None:
        self._drop_reading()
        self.dialog.reject()

    def _drop_reading(self) -> None:
        if self._reading is not None:
            self._reading.drop()

    @Slot(str, OwnSampling)
    def _save(self, system_prompt: str, sampling: OwnSampling) -> None:
        if self._shown is not None:
            self._conversations.change(self._shown, system_prompt, sampling)
        else:
            self._chat.next_chat = NextChat(system_prompt, sampling)

    def _show(self, title: str, about: str, own: Conversation | NextChat) -> None:
        chat = self._chat
        self.dialog.show_values(title, about, own.system_prompt, own.sampling, chat.reply_settings, chat.system_prompt)
        show_in_front(self.dialog)
