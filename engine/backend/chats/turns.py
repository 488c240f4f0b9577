"""Turns for a target out of the messages of a conversation, with their pictures if it sees."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.values.conversations import ChatTurn, Message, Role
from engine.values.errors import ConversationMissing, FileUnusable, NotPossible
from engine.values.pictures import Picture
from engine.values.prompts import pictures_in, split_pictures
from engine.values.replies import joined_thoughts
from engine.values.tools import UNDONE, Outcome, ToolCall, ToolResult

FindPictures = Callable[[Collection[str]], Mapping[str, Picture]]  # those of a conversation that are there, by digest


@dataclass(frozen=True, slots=True)
class Turns:
    """Makes the turns of one conversation for one target."""

    target_name: str
    sees: bool
    find: FindPictures

    def of(self, system_prompt: str, branch: Sequence[Message]) -> list[ChatTurn]:
        """Turns of the branch. A picture that the target cannot see is replaced by its name."""
        system = [ChatTurn(Role.SYSTEM, system_prompt)] if system_prompt.strip() else []
        asked = [each.text for each in branch if each.role is Role.USER]
        found = self._found(pictures_in(asked)) if self.sees else {}
        return system + [_turn(each, found) for each in _told(branch)]

    def asked(self, prompt: str) -> ChatTurn:
        """The turn of a new prompt. Raises NotPossible if it has pictures that the target cannot see, FileUnusable if
        they are missing."""
        pictures, text = split_pictures(prompt)
        if pictures and not self.sees:
            raise NotPossible(
                "{target_name} cannot see pictures: remove {name} from the message, or choose a model that can.",
                target_name=self.target_name,
                name=pictures[0].name,
            )
        found = self._found([each.digest for each in pictures])
        for each in pictures:
            if each.digest not in found:
                raise FileUnusable("{name} is no longer there; attach it again.", name=each.name)
        return ChatTurn(Role.USER, text, pictures=tuple(found[each.digest] for each in pictures))

    def _found(self, digests: Collection[str]) -> Mapping[str, Picture]:
        return self.find(digests) if digests else {}


def _turn(message: Message, found: Mapping[str, Picture]) -> ChatTurn:
    if message.role is not Role.USER:
        answers = None if message.result is None else message.result.call
        thought = joined_thoughts(message.thoughts)
        return ChatTurn(message.role, message.text, thought, calls=message.calls, answers=answers)
    pictures, text = split_pictures(message.text)
    named = [f"[picture: {each.name}]" for each in pictures if each.digest not in found]
    shown = tuple(found[each.digest] for each in pictures if each.digest in found)
    return ChatTurn(Role.USER, "\n\n".join([*named, text] if text else named), pictures=shown)


def _told(branch: Sequence[Message]) -> Iterator[Message]:
    """Messages with content. A call that was not carried out, because the program was ended, gets a result that says
    so: the target should not wait for it, and many templates refuse a call without one."""
    waiting: list[ToolCall] = []
    for message in branch:
        if message.role is Role.TOOL:
            if message.result is not None and message.result.call in waiting:
                waiting.remove(message.result.call)
                yield message
            continue
        yield from (_undone(message, call) for call in waiting)
        waiting = [*message.calls]
        if message.text or message.calls:
            yield message
    yield from (_undone(branch[-1], call) for call in waiting)


def _undone(message: Message, call: ToolCall) -> Message:
    return replace(
        message, role=Role.TOOL, text=UNDONE, calls=(), thoughts=(), result=ToolResult(call, Outcome.STOPPED)
    )


def is_prompt(message: Message) -> bool:
    return message.role is Role.USER and bool(message.text)


def check_own(message: Message) -> None:
    """Raises ConversationMissing unless the user wrote it."""
    if message.role is not Role.USER:
        raise ConversationMissing("Only your own messages can be edited.")


def before_last_prompt(branch: Sequence[Message]) -> Sequence[Message]:
    places = [place for place, message in enumerate(branch) if message.role is Role.USER]
    return branch[: places[-1]] if places else ()
