"""Requests of clients that the user lets Slipstream remember, kept as chats."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from engine.backend.chats.message_keeper import MessageKeeper
from engine.backend.storage import Repository
from engine.speculation.model.interface import Interrupted
from engine.values.conversations import ChatTurn, Message, Role
from engine.values.errors import ConversationMissing, NotPossible
from engine.values.events import ConversationChanged, Listener
from engine.values.prompts import AttachedPicture, join_prompt, title_of
from engine.values.tools import Outcome, ToolCall, ToolResult

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

    def keep(self, client: str, turns: Sequence[ChatTurn], look_up: Callable[[], None]) -> Kept:
        """Stores what is new of these turns, of which the last is the prompt; `look_up` is called before each. Raises
        ConversationMissing where its chat is deleted meanwhile, and what `look_up` raises: then nothing is left of a
        chat that was new."""
        system, said = _divided(turns)
        found = self._found(client, system, said)
        try:
            return self._stored(client, system, said, *found, look_up)
        except ConversationMissing:  # deleted in the window; the client goes on with it
            self._known.clear()
            return self._stored(client, system, said, None, None, 0, look_up)

    def note(self, client: str, turns: Sequence[ChatTurn], kept: Kept, reply: Message) -> None:
        """The reply to these turns was stored."""
        system, said = _divided(turns)
        written = ChatTurn(Role.ASSISTANT, reply.text, calls=reply.calls)
        *_, key = _keys(client, system, [*said, written])
        self._known[key] = kept.conversation_id, reply.id
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    def _found(self, client: str, system: str, said: Sequence[ChatTurn]) -> tuple[int | None, int | None, int]:
        """The chat that these turns go on with, the message behind which they do, and how many of them it has."""
        found: tuple[int | None, int | None, int] = None, None, 0
        for count, key in enumerate(_keys(client, system, said[:-1]), 1):
            if known := self._known.get(key):
                found = *known, count
        conversation_id, message_id, count = found
        return conversation_id, message_id and self._keeper.id_of(message_id), count

    def _stored(
        self,
        client: str,
        system: str,
        said: Sequence[ChatTurn],
        conversation_id: int | None,
        parent_id: int | None,
        num_known: int,
        look_up: Callable[[], None],
    ) -> Kept:
        is_new = conversation_id is None
        if conversation_id is None:
            asked = next((turn.text for turn in said if turn.role is Role.USER), "")
            title = ": ".join(filter(None, (client, title_of(asked))))
            conversation_id = self._repository.create_conversation(title, system).id
        *before, prompt = said[num_known:]
        try:
            for turn in before:
                look_up()
                parent_id = self._add(conversation_id, parent_id, turn).id
            look_up()
        except (Interrupted, NotPossible):
            if is_new:
                self._repository.forget_conversation(conversation_id)
            raise
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


def _divided(turns: Sequence[ChatTurn]) -> tuple[str, list[ChatTurn]]:
    """System prompt, and what was said."""
    system = "\n\n".join(turn.text for turn in turns if turn.role is Role.SYSTEM)
    return system, [turn for turn in turns if turn.role is not Role.SYSTEM]


def _keys(client: str, system: str, said: Sequence[ChatTurn]) -> Iterator[bytes]:
    """Keys of the first turn, the first two, and so on. Thoughts and ids do not count: clients send replies back
    without them."""
    digest = sha256(repr((client, system)).encode("utf-8", "replace"))
    for turn in said:
        told = replace(turn, text=turn.text.strip(), thought="", calls=_bare(turn.calls), answers=None)
        digest.update(repr(told).encode("utf-8", "replace"))
        yield digest.digest()


def _bare(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall("", "", each.tool, each.arguments) for each in calls)
