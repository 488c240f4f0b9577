"""The conversations in the sidebar: opened, renamed, deleted, restored and forgotten."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.dialogs.parts import ask, question_box
from app.engine_bridge import EngineBridge
from app.main_window import MainWindow
from engine import (
    Command,
    DeleteConversation,
    ForgetConversation,
    ListConversations,
    OpenConversation,
    RenameConversation,
    RestoreConversation,
)
from engine.messages.conversations import Conversation, ConversationSummary
from engine.messages.events import (
    ConversationChanged,
    ConversationDeleted,
    ConversationForgotten,
    ConversationOpened,
    ConversationsImported,
    ConversationsListed,
    Event,
    EverythingForgotten,
    Failed,
)

UNDO_MS = 20_000  # after that, the menu still restores a deleted conversation


class ConversationsController(QObject):
    """Keeps the list of conversations as the store has it, and knows which of them is open. What is said in the open
    one is shown by the chat controller.

    Signals:
        moved(int | None): another conversation is open, or None: a new chat.
        begun(int): the new chat is stored, under this id.
    """

    moved = Signal(object)
    begun = Signal(int)

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window)
        self.open_id: int | None = None  # None: a new chat
        self.is_incognito = False  # what is open, or begins with the next prompt
        self._window = window
        self._bridge = bridge
        self._deleted: list[ConversationSummary] = []  # can be restored until the next start
        self._was_listed = False
        bridge.happened.connect(self._on_event)
        window.conversations.new_requested.connect(self.begin_chat)
        window.conversations.incognito_requested.connect(self._begin_incognito)
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
        """The new chat that is open is stored, under this id."""
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

    @Slot()
    def _begin_incognito(self) -> None:
        self.begin_chat(incognito=True)

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
        self._change(DeleteConversation(conversation_id))

    @Slot()
    def _restore_last(self) -> None:
        if self._deleted:
            self._restore(self._deleted[-1])

    def _restore(self, summary: ConversationSummary) -> None:
        """Brings a deleted conversation back and shows it."""
        self._deleted = [other for other in self._deleted if other.id != summary.id]
        self._window.restore_action.setEnabled(bool(self._deleted))
        self._change(RestoreConversation(summary.id))
        self._open(summary.id)

    @Slot(int)
    def _ask_to_forget(self, conversation_id: int) -> None:
        row = self._window.conversations.model.row_of(conversation_id)
        if row is None:
            return
        title = self._window.conversations.model.summary(row).title
        text = self.tr("Forget “{title}” for good?").format(title=title)
        goes = self.tr(
            "Its text is removed from this computer now, with what recall and learning keep of it. "
            "This cannot be undone."
        )
        stays = self.tr(
            "Adapters that were already learned stay, and so do n-grams: how often pieces of words followed each "
            "other, in all chats together."
        )
        forget = self.tr("Forget at once")
        box = question_box(self._window, forget, text, f"{goes}\n\n{stays}")
        ask(box, forget, partial(self._change, ForgetConversation(conversation_id)))

    def _change(self, command: Command) -> None:
        self._bridge.post(command).failed.connect(self._on_change_failed)

    # What the engine says

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        match event:
            case ConversationsListed(conversations):
                self._was_listed = True
                self._window.conversations.set_conversations(conversations)
            case ConversationsImported():
                self.list_all()
            case ConversationChanged(summary):
                self._window.conversations.upsert(summary)
            case ConversationOpened(Conversation(summary=summary)) if summary.id == self.open_id:
                self._show_incognito(summary.incognito)
                self._window.conversations.set_chosen(summary.id)
            case ConversationDeleted(summary):
                self._on_deleted(summary)
            case ConversationForgotten(summary):
                self._remove(summary)
                self._window.toasts.show_info(self.tr("“{title}” is gone for good.").format(title=summary.title))
            case EverythingForgotten():
                self._on_everything_forgotten()

    def _on_deleted(self, summary: ConversationSummary) -> None:
        self._remove(summary)
        self._deleted.append(summary)
        self._window.restore_action.setEnabled(True)
        undo = partial(self._restore, summary)
        words = self.tr("“{title}” was deleted.").format(title=summary.title)
        self._window.toasts.show_info(words, self.tr("Undo"), undo, UNDO_MS)

    def _on_everything_forgotten(self) -> None:
        self._deleted.clear()
        self._window.restore_action.setEnabled(False)
        self._window.toasts.clear()  # some of them would restore a conversation
        self._window.prompt_box.set_text("")
        self.begin_chat()

    def _remove(self, summary: ConversationSummary) -> None:
        was_open = summary.id == self.open_id
        self._window.conversations.remove(summary.id)
        if was_open:
            self.begin_chat()

    @Slot(object)
    def _on_listing_failed(self, failed: Failed) -> None:
        if self._was_listed:  # before, a window of its own says so
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
