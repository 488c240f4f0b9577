"""The conversations of the sidebar: opened, renamed, deleted, restored and forgotten."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal, Slot

from app.controllers.controller import Controller
from app.dialogs.parts import ask, question_box
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from app.widgets.toast import Toast
from engine import (
    Command,
    DeleteConversations,
    ForgetConversation,
    ListConversations,
    OpenConversation,
    RenameConversation,
    RestoreConversations,
)
from engine.messages.conversations import ConversationSummary
from engine.messages.events import (
    ConversationChanged,
    ConversationForgotten,
    ConversationOpened,
    ConversationsDeleted,
    ConversationsImported,
    ConversationsListed,
    Event,
    EverythingForgotten,
    Failed,
)

UNDO_MS = 20_000  # after that, the menu still restores a deleted conversation


class ConversationsController(Controller):
    """Keeps the list of conversations as it is in the store, and knows which one is open; the chat controller shows it.

    Signals:
        moved(int | None): another conversation is open, or None: a new chat.
        begun(int): the new chat is stored, under this id.
    """

    moved = Signal(object)
    begun = Signal(int)

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window, bridge)
        self.open_id: int | None = None  # None: a new chat
        self.is_incognito = False  # the open one, also if it begins with the next prompt
        self._deleted: dict[ConversationSummary, Toast] = {}  # that can be restored until the next start, oldest first
        self._was_listed = False
        window.conversations.new_requested.connect(self.begin_chat)
        window.conversations.incognito_requested.connect(partial(self.begin_chat, incognito=True))
        window.conversations.chosen.connect(self._open)
        window.conversations.renamed.connect(self._rename)
        window.conversations.deleted.connect(self._delete)
        window.conversations.forget_requested.connect(self._ask_to_forget)
        window.restore_action.triggered.connect(self._restore_last)

    def list_all(self) -> None:
        self._bridge.post(ListConversations()).failed.connect(self._on_listing_failed)

    def read(self, conversation_id: int) -> None:
        """Answered with `ConversationOpened`."""
        self._bridge.post(OpenConversation(conversation_id)).failed.connect(self._on_reading_failed)

    def name_chat(self, conversation_id: int, incognito: bool) -> None:
        """The new chat that is open was stored."""
        self.open_id = conversation_id
        self._show_incognito(incognito)
        self._window.conversations.set_chosen(conversation_id)
        self.begun.emit(conversation_id)

    @Slot()
    def begin_chat(self, incognito: bool = False) -> None:
        self.open_id = None
        self._show_incognito(incognito)
        self._window.conversations.set_chosen(None)
        self.moved.emit(None)

    # What the user wants

    @Slot(int)
    def _open(self, conversation_id: int) -> None:
        if conversation_id != self.open_id:
            self.open_id = conversation_id
            self._window.conversations.set_chosen(conversation_id)
            self.read(conversation_id)
            self.moved.emit(conversation_id)

    @Slot(int, str)
    def _rename(self, conversation_id: int, title: str) -> None:
        self._change(RenameConversation(conversation_id, title))

    @Slot(int)
    def _delete(self, conversation_id: int) -> None:
        self._change(DeleteConversations((conversation_id,)))

    @Slot()
    def _restore_last(self) -> None:
        if self._deleted:
            self._restore(list(self._deleted)[-1])

    def _restore(self, summary: ConversationSummary) -> None:
        """Brings a deleted conversation back and shows it."""
        self._end_deleted(summary.id)
        self._change(RestoreConversations((summary.id,)))
        self._open(summary.id)

    @Slot(int)
    def _ask_to_forget(self, conversation_id: int) -> None:
        summary = self._window.conversations.model.find(conversation_id)
        if summary is None:
            return
        text = self.tr("Delete “{title}” permanently?").format(title=summary.title)
        goes = self.tr(
            "Its text is erased from this computer now, with what recall and learning keep of it. "
            "This cannot be undone; a chat that is only deleted can be brought back until Slipstream is closed."
        )
        stays = self.tr("What the speed-up has already learned from all chats together stays.")
        forget = self.tr("Delete permanently")
        box = question_box(self._window, forget, text, f"{goes}\n\n{stays}")
        ask(box, forget, partial(self._change, ForgetConversation(conversation_id)))

    def _change(self, command: Command) -> None:
        self._bridge.post(command).failed.connect(self._on_change_failed)

    # What the engine says

    def _on_event(self, event: Event) -> None:
        match event:
            case ConversationsListed(conversations):
                self._was_listed = True
                self._window.conversations.set_conversations(conversations)
            case ConversationsImported():
                self.list_all()
            case ConversationChanged(summary):
                self._end_deleted(summary.id)
                self._window.conversations.upsert(summary)
            case ConversationOpened(conversation) if conversation.summary.id == self.open_id:
                self._show_incognito(conversation.summary.incognito)
                self._window.conversations.set_chosen(self.open_id)
            case ConversationsDeleted((summary,)):
                self._on_deleted(summary)
            case ConversationForgotten(summary):
                self._end_deleted(summary.id)
                self._remove(summary)
                self._window.toasts.show_info(self.tr("“{title}” was deleted permanently.").format(title=summary.title))
            case EverythingForgotten():
                self._deleted.clear()
                self._window.restore_action.setEnabled(False)
                self._window.toasts.clear()  # some of them would restore a conversation
                self._window.prompt_box.set_text("")
                self.begin_chat()

    def _on_deleted(self, summary: ConversationSummary) -> None:
        self._remove(summary)
        self._end_deleted(summary.id)
        words = self.tr("“{title}” was deleted.").format(title=summary.title)
        undo = partial(self._restore, summary)
        self._deleted[summary] = self._window.toasts.show_info(words, self.tr("Undo"), undo, UNDO_MS)
        self._window.restore_action.setEnabled(True)

    def _end_deleted(self, conversation_id: int) -> None:
        """It can be restored no more, as it is here again or gone for good."""
        for summary in [each for each in self._deleted if each.id == conversation_id]:
            self._window.toasts.dismiss(self._deleted.pop(summary))
        self._window.restore_action.setEnabled(bool(self._deleted))

    def _remove(self, summary: ConversationSummary) -> None:
        self._window.conversations.remove(summary.id)
        if summary.id == self.open_id:
            self.begin_chat()

    @Slot(object)
    def _on_listing_failed(self, failed: Failed) -> None:
        if self._was_listed:  # before, a dialog shows it
            self._window.toasts.show_error(failed.sentence)

    @Slot(object)
    def _on_reading_failed(self, failed: Failed) -> None:
        if isinstance(failed.command, OpenConversation) and failed.command.conversation_id == self.open_id:
            self.begin_chat()
            self.list_all()
        self._window.toasts.show_error(failed.sentence)

    @Slot(object)
    def _on_change_failed(self, failed: Failed) -> None:
        self.list_all()  # the list shown may differ from what is stored
        self._window.toasts.show_error(failed.sentence)

    def _show_incognito(self, incognito: bool) -> None:
        self.is_incognito = incognito
        self._window.incognito_banner.setVisible(incognito)
