"""Chats as the target in use reads them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from engine.backend.chats.message_keeper import MessageKeeper
from engine.backend.chats.target_in_use import TargetInUse
from engine.backend.chats.turns import Turns
from engine.backend.storage import Repository
from engine.values.config import OwnSampling, ReplySettings
from engine.values.conversations import Conversation
from engine.values.pictures import Picture


@dataclass(frozen=True)
class OpenChats:
    """The chat thread calls all methods."""

    _repository: Repository
    _keeper: MessageKeeper
    _target: TargetInUse

    def open(self, conversation_id: int) -> Conversation:
        """The branch that is shown. Raises ConversationMissing."""
        return self._keeper.over(self._repository.open_conversation(conversation_id))

    def open_branch(self, conversation_id: int, message_id: int) -> Conversation:
        """The branch that ends with this message. Raises ConversationMissing."""
        return self._repository.open_branch(conversation_id, self._keeper.id_of(message_id))

    def turns(self, conversation_id: int | None, fresh: Sequence[Picture] = ()) -> Turns:
        """`fresh`: pictures that the conversation does not hold yet."""

        def find(digests: Collection[str]) -> dict[str, Picture]:
            held = {} if conversation_id is None else self._keeper.find_pictures(conversation_id, digests)
            return {each.digest: each for each in fresh if each.digest in digests} | held

        writer = self._target.loaded.writer
        return Turns(writer.target_name, writer.sees_pictures, find)

    def sampled(self, settings: ReplySettings, own: OwnSampling) -> ReplySettings:
        """Settings with the sampling of the target in use, overridden by the chat's own."""
        return own.over(replace(settings, sampling=self._target.options.sampling or settings.sampling))
