"""The conversations of the sidebar: opened, renamed, deleted, restored and forgotten."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import Signal, Slot

from app.engine_bridge import EngineBridge, Request
from app.features.controller import Controller
from app.main_window import MainWindow
from app.text.numbers import whole
from app.widgets.dialog_parts import ask, question_box
from app.widgets.toast import Toast
from engine import OwnSampling
from engine.values.conversations import Conversation, ConversationSummary
from engine.values.events import (
    ConversationChanged,
    ConversationForgotten,
    ConversationOpened,
    ConversationsChanged,
    ConversationsDeleted,
    ConversationsImported,
    ConversationsListed,
    EverythingForgotten,
    ReplyFinished,
)
from engine.values.order import Folder
from engine.values.requests import Failure

UNDO_MS = 20_000  # after that, the menu still restores a deleted conversation


@dataclass(frozen=True)
class _KeptChats:
    summaries: tuple[ConversationSummary, ...]
    open_id: int | None
    is_incognito: bool
    folder_id: int | None
    deleted: tuple[_Deleted, ...]


@dataclass(eq=False)
class _Deleted:
    """What was deleted at once, and can be restored."""

    summaries: tuple[ConversationSummary, ...]
    folder: Folder | None  # that was deleted with them
    toast: Toast | None = None  # that offers it

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(each.id for each in self.summaries)


class ConversationsController(Controller):
    """Keeps the list of conversations as it is in the store, and knows which one is open; the chat controller shows
    it."""

    moved = Signal(object)  # (int | None) another conversation is open, or None: a new chat
    begun = Signal(int)  # the new chat is stored, under this id
    # (int, str, OwnSampling) from its next reply on, this chat has a system prompt and sampling
    settings_changed = Signal(int, str, object)
    not_listed = Signal(str)  # the store could not be read for the first time, for this reason

    def __init__(self, window: MainWindow, bridge: EngineBridge) -> None:
        super().__init__(window, bridge)
        self._engine = bridge.engine
        self.open_id: int | None = None  # None: a new chat
        self.is_incognito = False  # the open one, also if it begins with the next prompt
        self.folder_id: int | None = None  # that the new chat begins in
        self._deleted: list[_Deleted] = []  # that can be restored until the next start, oldest first
        self._was_listed = False
        window.conversations.new_requested.connect(self.begin_chat)
        window.conversations.incognito_requested.connect(partial(self.begin_chat, incognito=True))
        window.conversations.chosen.connect(self._open)
        window.conversations.renamed.connect(self._rename)
        window.conversations.deleted.connect(self._delete)
        window.conversations.forget_requested.connect(self._ask_to_forget)
        window.restore_action.triggered.connect(self._restore_last)
        bridge.listen(ConversationsListed, self._on_listed)
        bridge.listen(ConversationsImported, self._on_imported)
        bridge.listen(ConversationChanged, self._on_changed)
        bridge.listen(ConversationsChanged, self._on_all_changed)
        bridge.listen(ConversationOpened, self._on_opened)
        bridge.listen(ConversationsDeleted, self._on_deleted)
        bridge.listen(ConversationForgotten, self._on_forgotten)
        bridge.listen(ReplyFinished, self._note_target)
        bridge.listen(EverythingForgotten, self._on_everything_forgotten)

    def list_all(self) -> None:
        self._bridge.ask(self._engine.chats.list_all).failed.connect(self._on_listing_failed)

    def read(self, conversation_id: int) -> Request[Conversation]:
        """Reads a chat, which `ConversationOpened` announces."""
        request = self._bridge.ask(self._engine.chats.open, conversation_id)
        request.failed.connect(partial(self._on_reading_failed, conversation_id))
        return request

    def change(self, conversation_id: int, system_prompt: str | None, sampling: OwnSampling) -> None:
        """Gives a chat settings of its own; without a system prompt it keeps its present one."""
        request = self._bridge.ask(self._engine.editor.change, conversation_id, system_prompt, sampling)
        request.answered.connect(partial(self._on_settings_changed, conversation_id, sampling))

    def name_chat(self, conversation_id: int, incognito: bool) -> None:
        """Names the open new chat, which has been stored."""
        self.open_id, self.folder_id = conversation_id, None
        self._show_incognito(incognito)
        self._window.conversations.set_chosen(conversation_id)
        self.begun.emit(conversation_id)

    @Slot()
    def begin_chat(self, incognito: bool = False, folder_id: int | None = None) -> None:
        self.open_id, self.folder_id = None, folder_id
        self._show_incognito(incognito)
        self._window.conversations.set_chosen(None)
        self.moved.emit(None)

    # What the user wants

    @Slot(int)
    def _open(self, conversation_id: int) -> None:
        if conversation_id != self.open_id:
            self.open_id, self.folder_id = conversation_id, None
            self._window.conversations.set_chosen(conversation_id)
            self.read(conversation_id)
            self.moved.emit(conversation_id)

    @Slot(int, str)
    def _rename(self, conversation_id: int, title: str) -> None:
        self._await(self._bridge.ask(self._engine.editor.rename, conversation_id, title))

    @Slot(object)
    def _delete(self, conversation_ids: tuple[int, ...]) -> None:
        self._await(self._bridge.ask(self._engine.editor.delete, conversation_ids))

    @Slot()
    def _restore_last(self) -> None:
        if self._deleted:
            self._restore(self._deleted[-1])

    def _restore(self, deleted: _Deleted) -> None:
        """Restores deleted chats, and opens a single one."""
        self._drop(deleted)
        editor, ids = self._engine.editor, deleted.ids
        if deleted.folder is None:
            self._await(self._bridge.ask(editor.restore, ids))
        else:
            self._await(self._bridge.ask(editor.restore_folder, deleted.folder, ids))
        if len(ids) == 1:
            self._open(ids[0])

    @Slot(object)
    def _ask_to_forget(self, conversation_ids: tuple[int, ...]) -> None:
        titles = [each.title for number in conversation_ids if (each := self._window.conversations.model.find(number))]
        if not titles:
            return
        text = self.tr("Delete “{title}” permanently?").format(title=titles[0])
        if len(titles) > 1:
            text = self.tr("Delete {number} chat(s) permanently?", "", len(titles)).format(number=whole(len(titles)))
        goes = self.tr(
            "Its text is erased from this computer now, with everything kept for reuse and learning. This cannot be "
            "undone. A chat that is only deleted can be restored until you close Slipstream."
        )
        stays = self.tr("What speed-up has already learned from all chats together stays.")
        forget = self.tr("Delete permanently")
        box = question_box(self._window, forget, text, f"{goes}\n\n{stays}")
        ask(box, forget, partial(self._forget, conversation_ids))

    def _forget(self, conversation_ids: tuple[int, ...]) -> None:
        for number in conversation_ids:
            self._await(self._bridge.ask(self._engine.editor.forget, number))

    def _await(self, change: Request[None]) -> None:
        change.failed.connect(self._on_change_failed)

    # What the engine says

    def _on_listed(self, event: ConversationsListed) -> None:
        self._was_listed = True
        self._window.conversations.set_conversations(event.conversations)

    def _on_imported(self, _event: ConversationsImported) -> None:
        self.list_all()

    def _on_changed(self, event: ConversationChanged) -> None:
        self._on_all_changed(ConversationsChanged((event.conversation,)))

    def _on_all_changed(self, event: ConversationsChanged) -> None:
        self._end_deleted(*(each.id for each in event.conversations))
        self._window.conversations.upsert(*event.conversations)

    def _on_opened(self, event: ConversationOpened) -> None:
        if event.conversation.summary.id == self.open_id:
            self._show_incognito(event.conversation.summary.incognito)
            self._window.conversations.set_chosen(self.open_id)

    def _on_forgotten(self, event: ConversationForgotten) -> None:
        forgotten = event.conversation
        self._end_deleted(forgotten.id)
        self._remove(forgotten.id)
        self._window.toasts.show_info(self.tr("“{title}” was deleted permanently.").format(title=forgotten.title))

    def _on_everything_forgotten(self, _event: EverythingForgotten) -> None:
        self._deleted.clear()
        self._window.restore_action.setEnabled(False)
        self._window.toasts.clear()  # some of them would restore a conversation
        self._window.prompt_box.set_text("")
        self.begin_chat()

    def kept(self) -> _KeptChats:
        summaries = tuple(self._window.conversations.model.summaries)
        deleted = tuple(replace(each, toast=None) for each in self._deleted)
        return _KeptChats(summaries, self.open_id, self.is_incognito, self.folder_id, deleted)

    def resume(self, kept: _KeptChats) -> None:
        self._was_listed = True
        self.open_id, self.folder_id = kept.open_id, kept.folder_id
        self._deleted = [*kept.deleted]
        self._window.restore_action.setEnabled(bool(self._deleted))
        self._window.conversations.set_conversations(kept.summaries)
        self._window.conversations.set_chosen(kept.open_id)
        self._show_incognito(kept.is_incognito)

    def _on_deleted(self, event: ConversationsDeleted) -> None:
        summaries, folder = event.conversations, event.folder
        ids = tuple(each.id for each in summaries)
        self._remove(*ids)
        self._end_deleted(*ids)
        words = self._words_of_deleted(summaries, folder)
        deleted = _Deleted(summaries, folder)
        undo = partial(self._restore, deleted)
        deleted.toast = self._window.toasts.show_info(words, self.tr("Undo"), undo, UNDO_MS)
        self._deleted.append(deleted)
        self._window.restore_action.setEnabled(True)

    def _words_of_deleted(self, summaries: tuple[ConversationSummary, ...], folder: Folder | None) -> str:
        number = len(summaries)
        if folder is not None:
            words = self.tr("The folder “{name}” was deleted with its {number} chat(s).", "", number)
            return words.format(name=folder.name, number=whole(number))
        if number == 1:
            return self.tr("“{title}” was deleted.").format(title=summaries[0].title)
        return self.tr("{number} chat(s) were deleted.", "", number).format(number=whole(number))

    def _end_deleted(self, *conversation_ids: int) -> None:
        """Ends the undo of chats that are back or gone for good."""
        gone = set(conversation_ids)
        for deleted in [each for each in self._deleted if not gone.isdisjoint(each.ids)]:
            deleted.summaries = tuple(each for each in deleted.summaries if each.id not in gone)
            if not deleted.summaries:
                self._drop(deleted)

    def _drop(self, deleted: _Deleted) -> None:
        if deleted in self._deleted:
            self._deleted.remove(deleted)
            if deleted.toast is not None:
                self._window.toasts.dismiss(deleted.toast)
        self._window.restore_action.setEnabled(bool(self._deleted))

    def _remove(self, *conversation_ids: int) -> None:
        self._window.conversations.remove(*conversation_ids)
        if self.open_id in conversation_ids:
            self.begin_chat()

    def _on_settings_changed(self, conversation_id: int, sampling: OwnSampling, system_prompt: str) -> None:
        self.settings_changed.emit(conversation_id, system_prompt, sampling)

    def _note_target(self, event: ReplyFinished) -> None:
        """Notes the model that wrote the latest reply."""
        message = event.message
        summary = self._window.conversations.model.find(message.conversation_id)
        if summary is not None and message.target_name and message.target_name != summary.target_name:
            self._window.conversations.upsert(replace(summary, target_name=message.target_name))

    @Slot(object)
    def _on_listing_failed(self, failure: Failure) -> None:
        if self._was_listed:
            self._window.toasts.show_error(failure.sentence)
        else:
            self.not_listed.emit(failure.sentence)

    def _on_reading_failed(self, conversation_id: int, failure: Failure) -> None:
        if conversation_id == self.open_id:
            self.begin_chat()
            self.list_all()
        self._window.toasts.show_error(failure.sentence)

    @Slot(object)
    def _on_change_failed(self, failure: Failure) -> None:
        self.list_all()  # the list shown may differ from what is stored
        self._window.toasts.show_error(failure.sentence)

    def _show_incognito(self, incognito: bool) -> None:
        self.is_incognito = incognito
        self._window.incognito_banner.setVisible(incognito)
