"""Requests of clients that the user lets Slipstream remember, kept as chats."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from engine.errors import ConversationMissing
from engine.messages.conversations import ChatTurn, Message, Role
from engine.messages.events import ConversationChanged, Listener
from engine.messages.prompts import AttachedPicture, join_prompt, title_of
from engine.messages.tools import Outcome, ToolCall, ToolResult
from engine.services.message_keeper import MessageKeeper
from engine.storage import Repository

_MOST_KNOWN = 512  # ends of branches: a request that goes on from one of them is the same chat


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a request stands in the store."""

    conversation_id: int
    prompt: Message  # the last of its turns


class Remembering:
    """A client sends all turns of its chat again and again; what goes on from an earlier reply is added to that chat.
    The chat thread calls all methods."""

    def __init__(self, repository: Repository, keeper: MessageKeeper, emit: Listener) -> None:
        self._repository = repository
        self._keeper = keeper
        self._emit = emit
        self._known: OrderedDict[bytes, tuple[int, int]] = OrderedDict()  # conversation and message, by turns up to it

    def keep(self, client: str, turns: Sequence[ChatTurn]) -> Kept:
        """Stores what is new of these turns, of which the last is the prompt. Raises ConversationMissing where its chat
        is deleted meanwhile."""
        system = "\n\n".join(turn.text for turn in turns if turn.role is Role.SYSTEM)
        said = [turn for turn in turns if turn.role is not Role.SYSTEM]
        try:
            return self._stored(client, system, said, *self._found(client, system, said))
        except ConversationMissing:  # deleted in the window; the client goes on with it
            self._known.clear()
            return self._stored(client, system, said, None, None, 0)

    def note(self, client: str, turns: Sequence[ChatTurn], kept: Kept, reply: Message) -> None:
        """The reply to these turns was stored."""
        system = "\n\n".join(turn.text for turn in turns if turn.role is Role.SYSTEM)
        said = [turn for turn in turns if turn.role is not Role.SYSTEM]
        written = ChatTurn(Role.ASSISTANT, reply.text, calls=reply.calls)
        self._known[_key(client, system, [*said, written])] = kept.conversation_id, reply.id
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    def _found(self, client: str, system: str, said: Sequence[ChatTurn]) -> tuple[int | None, int | None, int]:
        """The chat that these turns go on with, the message behind which they do, and how many of them it has."""
        for count in range(len(said) - 1, 0, -1):
            known = self._known.get(_key(client, system, said[:count]))
            if known is not None:
                conversation_id, message_id = known
                return conversation_id, self._keeper.id_of(message_id), count
        return None, None, 0

    def _stored(
        self,
        client: str,
        system: str,
        said: Sequence[ChatTurn],
        conversation_id: int | None,
        parent_id: int | None,
        num_known: int,
    ) -> Kept:
        if conversation_id is None:
            asked = next((turn.text for turn in said if turn.role is Role.USER), "")
            title = ": ".join(filter(None, (client, title_of(asked))))
            conversation_id = self._repository.create_conversation(title, system).id
        *before, prompt = said[num_known:]
        for turn in before:
            parent_id = self._add(conversation_id, parent_id, turn).id
        message = self._add(conversation_id, parent_id, prompt)
        self._emit(ConversationChanged(self._repository.find_conversation(conversation_id)))
        return Kept(conversation_id, message)

    def _add(self, conversation_id: int, parent_id: int | None, turn: ChatTurn) -> Message:
        if turn.role is Role.TOOL and parent_id is not None:
            call = turn.answers or ToolCall("", "", "")
            return self._keeper.add_result(conversation_id, parent_id, turn.text, ToolResult(call, Outcome.DONE))
        if turn.role is Role.USER:
            named = [AttachedPicture(f"picture {place + 1}", each.digest) for place, each in enumerate(turn.pictures)]
            return self._keeper.add_prompt(conversation_id, parent_id, join_prompt(named, turn.text), turn.pictures)
        return self._repository.add_message(conversation_id, parent_id, turn.role, turn.text, calls=turn.calls)


def _key(client: str, system: str, said: Sequence[ChatTurn]) -> bytes:
    """The same for what a client was told, and what it sends back of that: without thoughts and ids."""
    told = [replace(turn, text=turn.text.strip(), thought="", calls=_bare(turn.calls), answers=None) for turn in said]
    return sha256(repr((client, system, told)).encode("utf-8", "replace")).digest()


def _bare(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall("", "", each.tool, each.arguments) for each in calls)
