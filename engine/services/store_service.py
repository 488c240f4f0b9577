"""Carries out commands for stored conversations, also while a reply is being written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from engine.errors import StoreUnusable
from engine.messages.commands import (
    ArchiveConversations,
    ChangeConversation,
    ChangeFolder,
    Command,
    CreateFolder,
    DeleteConversations,
    DeleteFolder,
    DeleteMessage,
    EraseDeleted,
    ForgetAllowedTools,
    ForgetConversation,
    KeepPrompt,
    KeepReply,
    ListAllowedTools,
    ListConversations,
    ListFolders,
    MoveConversations,
    OpenConversation,
    OrderCommand,
    PinConversations,
    ReadHistory,
    RenameConversation,
    RestoreConversations,
    RestoreFolder,
    RestoreMessage,
    ReturnConversations,
    SaveDraft,
    SaveNgrams,
    SearchConversations,
    ShowBranch,
    ShowPicture,
    StoreCommand,
    StoreHeld,
)
from engine.messages.conversations import Conversation, ConversationSummary
from engine.messages.events import (
    AllowedToolsListed,
    ConversationChanged,
    ConversationForgotten,
    ConversationOpened,
    ConversationsChanged,
    ConversationsDeleted,
    ConversationSet,
    ConversationsFound,
    ConversationsListed,
    FoldersListed,
    HistoryRead,
    Listener,
    MessageDeleted,
    PictureShown,
)
from engine.messages.learned import NgramRecord
from engine.services.learning_service import LearningService
from engine.services.message_keeper import MessageKeeper
from engine.services.prompts_ahead import PromptsAhead
from engine.services.recall import Recall
from engine.stop_signal import StopSignal
from engine.storage import Repository
from engine.target.readings import Readings

_logger = logging.getLogger("slipstream.store")


@dataclass(frozen=True)
class StoreService:
    _repository: Repository
    _recall: Recall
    _learning: LearningService
    _keeper: MessageKeeper
    _readings: Readings
    _emit: Listener
    _post: Callable[[Command], object]  # queues a command of the engine's own

    def handle(self, command: StoreCommand, stop: StopSignal | None = None) -> None:
        stop = stop or StopSignal()
        match command:
            case ListConversations():
                self._emit(ConversationsListed(self._repository.list_conversations()))
            case OpenConversation(conversation_id):
                opened = self._repository.open_conversation(conversation_id)
                self._emit(ConversationOpened(self._keeper.over(opened)))
            case RenameConversation(conversation_id, title):
                self._emit(ConversationChanged(self._repository.rename_conversation(conversation_id, title)))
            case DeleteConversations(conversation_ids):
                self._emit(ConversationsDeleted(self._repository.delete_conversations(conversation_ids)))
                self._unlearn(conversation_ids)
            case RestoreConversations(conversation_ids):
                self._emit(ConversationsChanged(self._repository.restore_conversations(conversation_ids)))
                self._relearn(conversation_ids)
            case ListFolders():
                self._emit(FoldersListed(self._repository.list_folders()))
            case OrderCommand():
                self._put_in_order(command)
            case DeleteMessage(conversation_id, message_id):
                self._delete_message(conversation_id, self._keeper.id_of(message_id))
            case RestoreMessage(conversation_id, message_id):
                self._show_changed(self._repository.restore_message(conversation_id, message_id))
                self._recall.restore(conversation_id)
            case ShowBranch(conversation_id, message_id):
                shown = self._repository.show_branch(conversation_id, self._keeper.id_of(message_id))
                self._emit(ConversationOpened(self._keeper.over(shown)))
            case ChangeConversation(conversation_id, system_prompt, sampling):
                before = self._repository.open_conversation(conversation_id).system_prompt
                system_prompt = before if system_prompt is None else system_prompt
                if before != system_prompt:
                    self._readings.forget(conversation_id)  # the old one is not to stay in it
                changed = self._repository.change_conversation(conversation_id, system_prompt, sampling)
                self._emit(ConversationChanged(changed))
                self._emit(ConversationSet(conversation_id, system_prompt, sampling))
            case SaveDraft(conversation_id, text, pictures):
                self._repository.save_draft(conversation_id, text, pictures)
            case ShowPicture(conversation_id, digest):
                found = self._keeper.find_pictures(conversation_id, [digest])
                self._emit(PictureShown(conversation_id, digest, found.get(digest)))
            case ForgetConversation(conversation_id):
                self._forget(conversation_id)
            case KeepReply():
                self._keeper.keep(command)
            case KeepPrompt():
                PromptsAhead(self._repository, self._keeper, self._emit).keep(command)
            case StoreHeld(by_hand):
                self._keeper.store_held(by_hand)
            case SearchConversations(words):
                self._search(words, stop)
            case SaveNgrams(target_fingerprint, drafter_fingerprint, changed, era):
                with self._learning.era.lasting(era) as lasts:
                    if lasts:
                        self._save_ngrams(target_fingerprint, drafter_fingerprint, changed)
            case ListAllowedTools():
                self._emit(AllowedToolsListed(self._repository.allowed_tools()))
            case ForgetAllowedTools(tools):
                self._repository.forget_allowed_tools(tools)
                self._emit(AllowedToolsListed(self._repository.allowed_tools()))
            case ReadHistory():
                self._emit(HistoryRead(self._repository.read_history()))

    def _put_in_order(self, command: OrderCommand) -> None:
        store = self._repository
        match command:
            case MoveConversations(conversation_ids, folder_id):
                self._emit(ConversationsChanged(store.move_conversations(conversation_ids, folder_id)))
            case PinConversations(conversation_ids, is_pinned):
                self._emit(ConversationsChanged(store.pin_conversations(conversation_ids, is_pinned)))
            case ArchiveConversations(conversation_ids, is_archived):
                self._emit(ConversationsChanged(store.archive_conversations(conversation_ids, is_archived)))
            case ReturnConversations(conversations):
                self._emit(ConversationsChanged(store.return_conversations(conversations)))
            case CreateFolder(name, system_prompt, preset_id, target, conversation_ids):
                _, moved = store.create_folder(name, system_prompt, preset_id, target, conversation_ids)
                self._list_folders(moved)
            case ChangeFolder(folder):
                store.change_folder(folder)
                self._list_folders()
            case DeleteFolder(folder_id, with_conversations):
                self._delete_folder(folder_id, with_conversations)
            case RestoreFolder(folder, conversation_ids):
                self._list_folders(store.restore_folder(folder, conversation_ids))
                self._relearn(conversation_ids)

    def _delete_folder(self, folder_id: int, with_conversations: bool) -> None:
        folder, inside = self._repository.delete_folder(folder_id, with_conversations)
        if with_conversations:
            self._list_folders()
            self._emit(ConversationsDeleted(inside, folder))
            self._unlearn(each.id for each in inside)
        else:
            self._list_folders(replace(each, folder_id=None) for each in inside)

    def _list_folders(self, moved: Iterable[ConversationSummary] = ()) -> None:
        self._emit(FoldersListed(self._repository.list_folders()))
        if conversations := tuple(moved):
            self._emit(ConversationsChanged(conversations))

    def _unlearn(self, conversation_ids: Iterable[int]) -> None:
        for number in conversation_ids:
            for reader in (self._recall, self._learning, self._readings):
                reader.forget(number)

    def _relearn(self, conversation_ids: Iterable[int]) -> None:
        for number in conversation_ids:
            for reader in (self._recall, self._learning):
                reader.restore(number)

    def _delete_message(self, conversation_id: int, message_id: int) -> None:
        """What is recalled and learned from is read again without it."""
        opened = self._repository.delete_message(conversation_id, message_id)
        if opened is None:
            self.handle(DeleteConversations((conversation_id,)))
            return
        self._emit(MessageDeleted(conversation_id, message_id))
        self._show_changed(opened)
        self._unlearn([conversation_id])
        self._relearn([conversation_id])

    def _show_changed(self, opened: Conversation) -> None:
        """Its title may have changed as well."""
        self._emit(ConversationChanged(opened.summary))
        self._emit(ConversationOpened(self._keeper.over(opened)))

    def _forget(self, conversation_id: int) -> None:
        self._emit(ConversationForgotten(self._repository.forget_conversation(conversation_id)))
        self._unlearn([conversation_id])
        self._post(EraseDeleted())

    def _search(self, words: str, stop: StopSignal) -> None:
        """Not answered if it is stopped: another search replaces it."""
        hits = () if stop.is_set() else self._repository.search(words, stop.is_set)
        if not stop.is_set():
            self._emit(ConversationsFound(words, hits))

    def _save_ngrams(self, target_fingerprint: str, drafter_fingerprint: str, changed: Sequence[NgramRecord]) -> None:
        """A failure is only logged: the user learns about a broken store when a message is to be stored."""
        try:
            self._repository.save_ngrams(target_fingerprint, drafter_fingerprint, changed)
        except StoreUnusable as error:
            _logger.warning("n-grams were not stored: %s", error)
