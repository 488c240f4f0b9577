"""Turns for a target out of the messages of a conversation, with their pictures if it sees."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from engine.errors import FileUnusable, NotPossible
from engine.messages.conversations import ChatTurn, Message, Role
from engine.messages.pictures import Picture
from engine.messages.prompts import pictures_in, split_pictures
from engine.messages.replies import joined_thoughts

FindPictures = Callable[[Collection[str]], Mapping[str, Picture]]  # those of a conversation that are there, by digest


@dataclass(frozen=True, slots=True)
class Turns:
    """Of one conversation, for one target."""

    target_name: str
    sees: bool
    find: FindPictures

    def of(self, system_prompt: str, branch: Sequence[Message]) -> list[ChatTurn]:
        """Where a picture is not seen, its name stands for it."""
        system = [ChatTurn(Role.SYSTEM, system_prompt)] if system_prompt.strip() else []
        asked = [each.text for each in branch if each.role is Role.USER]
        found = self._found(pictures_in(asked)) if self.sees else {}
        return system + [_turn(each, found) for each in branch if each.text]

    def asked(self, prompt: str) -> ChatTurn:
        """Of a new prompt. Raises NotPossible where it has pictures that the target does not see, and FileUnusable
        where they are not there."""
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
                raise FileUnusable("{name} is not there any more; attach it again.", name=each.name)
        return ChatTurn(Role.USER, text, pictures=tuple(found[each.digest] for each in pictures))

    def _found(self, digests: Collection[str]) -> Mapping[str, Picture]:
        return self.find(digests) if digests else {}


def _turn(message: Message, found: Mapping[str, Picture]) -> ChatTurn:
    if message.role is not Role.USER:
        return ChatTurn(message.role, message.text, joined_thoughts(message.thoughts))
    pictures, text = split_pictures(message.text)
    named = [f"[picture: {each.name}]" for each in pictures if each.digest not in found]
    shown = tuple(found[each.digest] for each in pictures if each.digest in found)
    return ChatTurn(Role.USER, "\n\n".join([*named, text] if text else named), pictures=shown)


def is_prompt(message: Message) -> bool:
    return message.role is Role.USER and bool(message.text)


def before_last_prompt(branch: Sequence[Message]) -> Sequence[Message]:
    places = [place for place, message in enumerate(branch) if message.role is Role.USER]
    return branch[: places[-1]] if places else ()
