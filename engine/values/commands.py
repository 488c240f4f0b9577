"""What the user, or the engine itself, can ask of the engine. Posting a command returns a signal that stops it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import dataclass_transform

from engine.values.asked import Asked
from engine.values.config import OwnSampling, ReplySettings
from engine.values.owner import Owner
from engine.values.pictures import Picture


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Command:
    """Commands are frozen dataclasses; their base classes say which service carries them out."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class ChatCommand(Command):
    """Needs the target."""


class ReplyCommand(ChatCommand):
    """Lets the target write a reply."""


class Send(ReplyCommand):
    """Add a turn and answer it. Without a conversation a new one begins, titled after the prompt."""

    prompt: str
    conversation_id: int | None
    settings: ReplySettings
    system_prompt: str = ""  # of a new conversation; an old one keeps its own
    incognito: bool = False  # of a new conversation: not written to the disk, recalled or learned from
    sampling: OwnSampling = OwnSampling()  # of a new conversation; an old one keeps its own
    has_own_system_prompt: bool = False  # whether it was written for this conversation; if not, the target's is used
    pictures: tuple[Picture, ...] = ()  # that the prompt names and the conversation does not hold yet
    folder_id: int | None = None  # that a new conversation begins in; without it if that is gone, or `incognito`


class Regenerate(ReplyCommand):
    """Write a reply again, beside the old one, or answer a prompt that has no reply yet."""

    conversation_id: int
    settings: ReplySettings
    message_id: int | None = None  # of the reply or the prompt; None: the last of the current branch
    seed: int | None = None  # for this reply alone; None: as it is set


class EditPrompt(ReplyCommand):
    """Replace a prompt: on a branch beside it, with its own reply."""

    conversation_id: int
    message_id: int  # of the prompt
    prompt: str
    settings: ReplySettings
    pictures: tuple[Picture, ...] = ()  # as in `Send`


class ContinueReply(ReplyCommand):
    """Continue the last reply of the current branch. The longer reply is stored beside it. Where the branch ends with
    calls that nobody has carried out, or with their results, it goes on from there."""

    conversation_id: int
    settings: ReplySettings


class Answer(ReplyCommand):
    """Write a reply that a client of the server asks for. Answered with `AnswerStarted`, `AnswerText`, `AnswerThought`
    and `AnswerEnded`, or with `AnswerRefused`; nothing of it is stored, or learned from, unless it is remembered."""

    number: int  # by which the events name it
    asked: Asked
    settings: ReplySettings  # of the user
    is_remembered: bool = False  # kept as a chat, as if it had been written in the window
    owner: Owner = Owner("somebody")


class Embed(ChatCommand):
    """Make embeddings for a client of the server. Answered with `EmbeddingsMade`, or with `AnswerRefused`."""

    number: int  # as of `Answer`, with which it shares them
    path: Path  # of the model that makes them
    texts: tuple[str, ...]


OfClient = Answer | Embed  # a client of the server waits for what comes of it
