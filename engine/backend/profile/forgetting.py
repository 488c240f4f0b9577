"""Forgets everything at once, on the thread that replies, so that no reply follows."""

from __future__ import annotations

from dataclasses import dataclass

from engine.backend.profile.personal_service import PersonalService
from engine.backend.remote.servers import Servers
from engine.backend.storage import Repository
from engine.speculation.model.files.prompt_cache import PromptCache
from engine.values.events import ConversationsListed, EverythingForgotten, FoldersListed, Listener, ServersListed


@dataclass(frozen=True)
class Forgetting:
    _repository: Repository
    _personal: PersonalService
    _prompt_cache: PromptCache
    _servers: Servers
    _emit: Listener

    def forget_everything(self) -> int:
        """Removes all chats with their unsent prompts, and everything that was learned, for good. Returns how many
        chats there were. Raises StoreUnusable, and FileUnusable where servers are left."""
        with self._personal.exchanging():
            num_conversations = self._repository.forget_everything()
        self._prompt_cache.forget_all()
        self._emit(EverythingForgotten())
        self._emit(FoldersListed(self._repository.list_folders()))
        self._emit(ConversationsListed(self._repository.list_conversations()))
        self._servers.forget()  # last, as their file may refuse
        self._emit(ServersListed((), self._servers.keys.notice))
        return num_conversations
