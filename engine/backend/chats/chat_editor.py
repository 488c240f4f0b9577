"""Changes stored chats and the folders that they are in, also while a reply is being written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from engine.backend.chats.message_keeper import MessageKeeper
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.recall import Recall
from engine.speculation.model.files.prompt_cache import PromptCache
from engine.values.config import OwnSampling
from engine.values.conversations import Conversation, ConversationSummary
from engine.values.events import (
    ConversationChanged,
    ConversationForgotten,
    ConversationOpened,
    ConversationsChanged,
    ConversationsDeleted,
    FoldersListed,
    Listener,
    MessageDeleted,
)
from engine.values.order import Folder
from engine.values.pictures import Picture
from engine.values.tools import AllowedTool


@dataclass(frozen=True)
class ChatEditor:
    """Every change happens as a whole or not at all, and is reported as a fact (`engine.values.events`). All methods
    raise StoreUnusable and ConversationMissing."""

    _repository: Repository
    _recall: Recall
    _learning: LearningService
    _keeper: MessageKeeper
    _prompt_cache: PromptCache
    _emit: Listener
    _erase: Callable[[], object]  # what was deleted, on another thread

    # Conversations

    def rename(self, conversation_id: int, title: str) -> None:
        self._emit(ConversationChanged(self._repository.rename_conversation(conversation_id, title)))

    def delete(self, conversation_ids: Collection[int]) -> None:
        """Hides them; they can be restored until the next start."""
        self._emit(ConversationsDeleted(self._repository.delete_conversations(conversation_ids)))
        self._unlearn(conversation_ids)

    def restore(self, conversation_ids: Collection[int]) -> None:
        self._emit(ConversationsChanged(self._repository.restore_conversations(conversation_ids)))
        self._relearn(conversation_ids)

    def forget(self, conversation_id: int) -> None:
        """Removes it for good, whether it was deleted or not."""
        self._emit(ConversationForgotten(self._repository.forget_conversation(conversation_id)))
        self._unlearn([conversation_id])
        self._erase()

    def change(self, conversation_id: int, system_prompt: str | None, sampling: OwnSampling) -> str:
        """Takes effect with its next reply. Without a system prompt it keeps its own, which is returned."""
        before = self._repository.open_conversation(conversation_id).system_prompt
        system_prompt = before if system_prompt is None else system_prompt
        if before != system_prompt:
            self._prompt_cache.forget(conversation_id)  # the old one is not to stay in it
        changed = self._repository.change_conversation(conversation_id, system_prompt, sampling)
        self._emit(ConversationChanged(changed))
        return system_prompt

    def save_draft(self, conversation_id: int, text: str, pictures: Collection[Picture] = ()) -> None:
        """An unsent prompt. `pictures`: those that it names and the conversation does not hold yet."""
        self._repository.save_draft(conversation_id, text, pictures)

    # Messages

    def delete_message(self, conversation_id: int, message_id: int) -> None:
        """Removes a prompt with its replies, or a reply: with its prompt, unless it ends its branch. If no message
        would be left, the conversation is deleted. What is recalled and learned from is read again without it."""
        message_id = self._keeper.id_of(message_id)
        opened = self._repository.delete_message(conversation_id, message_id)
        if opened is None:
            self.delete((conversation_id,))
            return
        self._emit(MessageDeleted(conversation_id, message_id))
        self._tell_changed(opened)
        self._unlearn([conversation_id])
        self._relearn([conversation_id])

    def restore_message(self, conversation_id: int, message_id: int) -> None:
        """Brings back what `delete_message` removed, until the next start."""
        self._tell_changed(self._repository.restore_message(conversation_id, message_id))
        self._recall.restore(conversation_id)

    def show_branch(self, conversation_id: int, message_id: int) -> None:
        """Makes the branch through this message the current one, down to its leaf that was used last."""
        shown = self._repository.show_branch(conversation_id, self._keeper.id_of(message_id))
        self._emit(ConversationOpened(self._keeper.over(shown)))

    # Order: not for incognito chats, which are on no disk

    def move(self, conversation_ids: Collection[int], folder_id: int | None) -> None:
        """Moves the chats to the folder; None: out of their folders."""
        self._emit(ConversationsChanged(self._repository.move_conversations(conversation_ids, folder_id)))

    def pin(self, conversation_ids: Collection[int], is_pinned: bool) -> None:
        self._emit(ConversationsChanged(self._repository.pin_conversations(conversation_ids, is_pinned)))

    def archive(self, conversation_ids: Collection[int], is_archived: bool) -> None:
        self._emit(ConversationsChanged(self._repository.archive_conversations(conversation_ids, is_archived)))

    def put_back(self, conversations: Collection[ConversationSummary]) -> None:
        """Undoes a change: gives each chat back the folder, pin and archive state that its earlier summary has."""
        self._emit(ConversationsChanged(self._repository.return_conversations(conversations)))

    def create_folder(self, folder: Folder, conversation_ids: Collection[int] = ()) -> None:
        """Gives it an id, and moves these chats into it."""
        values = folder.name, folder.system_prompt, folder.preset_id, folder.target
        self._tell_folders(self._repository.create_folder(*values, conversation_ids)[1])

    def change_folder(self, folder: Folder) -> None:
        """Its chats keep what they began with."""
        self._repository.change_folder(folder)
        self._tell_folders()

    def delete_folder(self, folder_id: int, with_conversations: bool = False) -> None:
        """Its chats stay, unless they are deleted with it."""
        folder, inside = self._repository.delete_folder(folder_id, with_conversations)
        if with_conversations:
            self._tell_folders()
            self._emit(ConversationsDeleted(inside, folder))
            self._unlearn(each.id for each in inside)
        else:
            self._tell_folders(replace(each, folder_id=None) for each in inside)

    def restore_folder(self, folder: Folder, conversation_ids: Collection[int]) -> None:
        """Brings back a folder, and into it these chats, deleted or not."""
        self._tell_folders(self._repository.restore_folder(folder, conversation_ids))
        self._relearn(conversation_ids)

    # Tools

    def forget_allowed_tools(self, tools: Sequence[AllowedTool] | None) -> tuple[AllowedTool, ...]:
        """Has these asked for again, or all; returns the others."""
        self._repository.forget_allowed_tools(tools)
        return self._repository.allowed_tools()

    def _tell_folders(self, moved: Iterable[ConversationSummary] = ()) -> None:
        self._emit(FoldersListed(self._repository.list_folders()))
        if conversations := tuple(moved):
            self._emit(ConversationsChanged(conversations))

    def _tell_changed(self, opened: Conversation) -> None:
        """Its title may have changed as well."""
        self._emit(ConversationChanged(opened.summary))
        self._emit(ConversationOpened(self._keeper.over(opened)))

    def _unlearn(self, conversation_ids: Iterable[int]) -> None:
        for number in conversation_ids:
            for reader in (self._recall, self._learning, self._prompt_cache):
                reader.forget(number)

    def _relearn(self, conversation_ids: Iterable[int]) -> None:
        for number in conversation_ids:
            for reader in (self._recall, self._learning):
                reader.restore(number)
