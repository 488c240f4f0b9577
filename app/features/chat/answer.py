"""An answer that was asked for, and the messages that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.engine_bridge import Request
from engine.values.conversations import Message
from engine.values.growing_reply import ReplySoFar
from engine.values.replies import OriginRun, Thought
from engine.values.tools import ToolCall


@dataclass
class Answer:
    """What was asked, until it is answered: by one reply, or by several with calls of tools between them."""

    request: Request[None]
    conversation_id: int | None  # None until a new conversation is stored
    incognito: bool = False  # if it begins a conversation
    prompt: str | None = None  # that was sent; None if an earlier one is answered
    prompt_id: int | None = None  # of the message being answered, once it is known: a prompt, or the result of a call
    begun: str = ""  # the reply that it continues
    thoughts: tuple[Thought, ...] = ()  # of that
    is_forgotten: bool = False  # with its conversation
    so_far: ReplySoFar = field(default_factory=ReplySoFar)  # of the reply that is being written
    origins: list[OriginRun] = field(default_factory=list)  # of its text
    calls: tuple[ToolCall, ...] = ()  # of the reply before, that have no result yet
    is_between: bool = False  # nothing is being written: calls are carried out

    def rest(self, message: Message) -> None:
        """A part of the answer is whole, and others follow."""
        self.prompt_id, self.begun, self.thoughts = message.id, "", ()
        self.so_far, self.origins, self.is_between = ReplySoFar(), [], True


def with_finished(
    finished: Sequence[Message], conversation_id: int, messages: tuple[Message, ...], is_answering: bool
) -> tuple[Message, ...]:
    """The messages of a conversation with those that ended while it was being read."""
    for message in finished:
        ids = [each.id for each in messages]
        if message.conversation_id != conversation_id or message.id in ids:
            continue
        if ids and ids[-1] == message.parent_id:
            messages = (*messages, message)
        elif is_answering and message.parent_id in ids:  # another branch was read, which is being left
            messages = (*messages[: ids.index(message.parent_id) + 1], message)
    return messages


def num_left_out(messages: Sequence[Message]) -> int:
    """How many messages of a branch do not fit into the context, as its last reply found."""
    statistics = messages[-1].statistics if messages else None
    return 0 if statistics is None else statistics.left_out_messages
