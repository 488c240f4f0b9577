"""Stores prompts whose reply has to wait, so that they are seen at once and outlive the program."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from engine.backend.chats.message_keeper import MessageKeeper
from engine.backend.chats.turns import check_own
from engine.backend.storage import Repository
from engine.values.conversations import Message
from engine.values.errors import ConversationMissing, StoreUnusable
from engine.values.events import ConversationChanged, Listener, PromptStored
from engine.values.growing_reply import ReplySoFar
from engine.values.orders import EditPrompt, Send
from engine.values.sentences import Told
from engine.values.stop_signal import StopSignal

_logger = logging.getLogger("slipstream.store")


@dataclass(frozen=True)
class PromptsAhead:
    """Stores prompts whose replies have to wait; `MessageKeeper.take_ahead` finds them."""

    _repository: Repository
    _keeper: MessageKeeper
    _emit: Listener

    def keep(
        self,
        asked: Send | EditPrompt,
        signal: StopSignal,
        waits_for: Told,
        tell: Callable[[ReplySoFar], object],
    ) -> None:
        """Stores the prompt under the `signal` that stops its reply, and reports why that waits. What the store refuses
        is stored once the target is free, and the user then sees what is wrong."""
        try:
            prompt = self._stored(asked)
        except (StoreUnusable, ConversationMissing) as error:
            _logger.info("a prompt was not stored before its turn: %s", error)
            return
        self._keeper.note_ahead(signal, prompt)
        conversation_id = prompt.conversation_id
        self._emit(ConversationChanged(self._repository.find_conversation(conversation_id)))
        self._emit(PromptStored(prompt, self._keeper.siblings_of(prompt)))
        tell(ReplySoFar(conversation_id, prompt.id, waits_for))

    def _stored(self, asked: Send | EditPrompt) -> Message:
        if isinstance(asked, EditPrompt):
            edited = self._keeper.id_of(asked.message_id)
            *branch, before = self._repository.open_branch(asked.conversation_id, edited).messages
            check_own(before)
            conversation_id = asked.conversation_id
        elif asked.conversation_id is None:
            conversation_id = self._keeper.begin(asked, asked.system_prompt).id
            branch = []
        else:
            conversation_id = asked.conversation_id
            branch = [*self._keeper.over(self._repository.open_conversation(conversation_id)).messages]
        parent_id = branch[-1].id if branch else None
        return self._keeper.add_prompt(conversation_id, parent_id, asked.prompt, asked.pictures)
