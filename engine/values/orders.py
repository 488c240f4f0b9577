"""What the user wants answered: the arguments of `ChatService.answer`."""

from __future__ import annotations

from dataclasses import dataclass

from engine.values.config import OwnSampling, ReplySettings
from engine.values.pictures import Picture


@dataclass(frozen=True, slots=True)
class Send:
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


@dataclass(frozen=True, slots=True)
class Regenerate:
    """Write a reply again, as a sibling of the old one, or answer a prompt that has no reply yet."""

    conversation_id: int
    settings: ReplySettings
    message_id: int | None = None  # of the reply or the prompt; None: the last of the current branch
    seed: int | None = None  # for this reply alone; None: as it is set


@dataclass(frozen=True, slots=True)
class EditPrompt:
    """Replace a prompt: on a branch of its own, with its own reply."""

    conversation_id: int
    message_id: int  # of the prompt
    prompt: str
    settings: ReplySettings
    pictures: tuple[Picture, ...] = ()  # as in `Send`


@dataclass(frozen=True, slots=True)
class ContinueReply:
    """Continue the last reply of the current branch. The longer reply is stored as its sibling. Where the branch ends
    with calls that were never carried out, or with their results, it goes on from there."""

    conversation_id: int
    settings: ReplySettings


ReplyOrder = Send | Regenerate | EditPrompt | ContinueReply
