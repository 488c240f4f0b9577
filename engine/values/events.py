"""What the engine reports to its listener, in the order in which it happens, on the engine's threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import dataclass_transform

from engine.values.conversations import Conversation, ConversationSummary, Message
from engine.values.drafters import DrafterChoice
from engine.values.order import Folder, LibraryPrompt, Preset
from engine.values.remote import RemoteServer, reference_in
from engine.values.sentences import Told
from engine.values.targets import LibraryTarget, LoadOrder
from engine.values.tools import Redefined, ServerState, Tool, ToolCall


@dataclass_transform(frozen_default=True)
class Event:
    """A fact: something that happened in the engine. Events are frozen dataclasses."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """A loaded target, in words and numbers for the interface. If it is on a server, `path` and `gpu` are empty, sizes
    and threads 0, and nothing drafts for it here (`can_draft`, `speculation`)."""

    name: str
    path: str
    description: str  # architecture, size and quantization as llama.cpp names them
    context_size: int  # tokens; 0: its server does not say
    size_bytes: int
    threads: int
    notice: Told = ""  # what the user should know about this target, in sentences; usually empty
    speculation: Told = ""  # what drafts for it, or why nothing does, in a sentence
    awaits_drafter: bool = False  # it is still being loaded; `SpeculationChanged` follows
    can_draft: bool = True  # whether anything may draft for it, now or later
    num_gpu_layers: int = 0  # on graphics cards
    gpu: str = ""  # names of these; empty if there are none
    identity: str = ""  # as in `TargetSource`, or `RemoteModel.identity`
    thinks: bool | None = None  # whether it thinks before it answers by default; None: it has no switch for that
    sees_pictures: bool = False  # whether prompts can hold some
    calls_tools: bool = False  # whether its chat template knows how to, or its server does not deny it
    completes: bool = False  # it was not taught to answer, and goes on with what is written
    server: RemoteServer | None = None  # that it is on; None: this program runs it

    @property
    def reference(self) -> str:
        """What `LoadOrder.target` takes for it."""
        return reference_in(self.identity) or self.path


class TargetLoading(Event):
    name: str
    progress: float  # 0 … 1


class TargetReady(Event):
    target: TargetInfo
    order: LoadOrder


class TargetRefused(Event):
    """A target could not be loaded, other than because it was stopped."""

    order: LoadOrder
    sentence: Told  # says what to do about it
    error: type[Exception]


class SpeculationChanged(Event):
    """The drafter of a target is being loaded, is ready, or could not be loaded."""

    target_name: str
    sentence: Told
    is_drafting: bool
    awaits_drafter: bool = False  # it is still being loaded; another event follows
    can_draft: bool = True  # whether anything may draft, now or later
    has_failed: bool = False  # it could not be loaded, or failed in a reply; the sentence says why


class DrafterChosen(Event):
    """Who drafts for a target from now on, and why: when it is loaded, and again, with what was seen, after replies."""

    target_name: str
    choice: DrafterChoice


class TargetsListed(Event):
    """The whole library, on request or after a change: the starter first, then last used first."""

    targets: tuple[LibraryTarget, ...]


class ConversationsListed(Event):
    conversations: tuple[ConversationSummary, ...]  # last used first


class ConversationChanged(Event):
    """It was created, renamed or used."""

    conversation: ConversationSummary


class ConversationsChanged(Event):
    """They were moved, pinned, archived or restored, all at once."""

    conversations: tuple[ConversationSummary, ...]


class ConversationsDeleted(Event):
    conversations: tuple[ConversationSummary, ...]  # as they were
    folder: Folder | None = None  # that was deleted with them


class FoldersListed(Event):
    """All folders by name, on request or after a change."""

    folders: tuple[Folder, ...]


class MessageDeleted(Event):
    conversation_id: int
    message_id: int


class ConversationOpened(Event):
    conversation: Conversation


class ConversationForgotten(Event):
    """It was removed for good."""

    conversation: ConversationSummary


class DeletedErased(Event):
    """What was deleted is erased from the files, too, except what these sentences say."""

    left: tuple[Told, ...]


class ConversationsImported(Event):
    """A file brought some."""


class PresetsListed(Event):
    """All presets and all prompts of the library, by name: on request and after every change."""

    presets: tuple[Preset, ...]
    prompts: tuple[LibraryPrompt, ...]


class PromptStored(Event):
    """The user's turn is stored; its reply is being prepared."""

    message: Message  # with an id below 0 if the store refused it: `MessageStored` follows
    siblings: tuple[int, ...] = ()  # as in `Conversation.siblings`, if it has any


class StoreBehind(Event):
    """The store does not take what is written, or takes it again."""

    sentence: Told  # why, and what to do; empty: all is stored
    unstored: tuple[Message, ...] = ()  # what is in memory alone


class MessageStored(Event):
    """The store has taken a message that it refused before."""

    held_id: int  # until now
    message: Message
    siblings: tuple[int, ...] = ()  # as in `Conversation.siblings`, if it has any


class ReplyFinished(Event):
    """The stored reply. Its text is final and replaces what was streamed."""

    message: Message  # as in `PromptStored`
    siblings: tuple[int, ...] = ()  # as in `Conversation.siblings`, if it has any


class ServersListed(Event):
    """All servers for targets, by name: on request, and after every change."""

    servers: tuple[RemoteServer, ...]
    notice: Told = ""  # what the user should know of their keys: that they cannot be kept, and why; usually empty


class ToolServerChanged(Event):
    """A server is being started, is ready, was ended, or failed."""

    server: str
    state: ServerState
    sentence: Told = ""  # why it failed, and what to do


class ToolsListed(Event):
    """What a server offers: when it was asked, and whenever a reply may call it."""

    server: str
    tools: tuple[Tool, ...]


class ToolAsked(Event):
    """The model wants to call a tool, and waits until the user answers (`Asking.answer`)."""

    conversation_id: int
    message_id: int  # of the reply that calls
    call: ToolCall
    tool: Tool
    redefined: Redefined | None = None  # where it was allowed, and has changed since


class ToolStarted(Event):
    """A call is being carried out, because the user allowed it now or before."""

    conversation_id: int
    message_id: int  # of the reply that calls
    call: ToolCall


class ToolFinished(Event):
    """What came of a call, as it is stored below the reply or the result before it. The next reply, or the next call of
    the reply, follows."""

    message: Message  # of `Role.TOOL`, with its `result`; its id as in `PromptStored`
    siblings: tuple[int, ...] = ()  # as in `Conversation.siblings`, if it has any


class DrafterLearned(Event):
    """The drafter uses another adapter from the next reply on, or the stored one after a start."""

    number: int | None  # of the adapter; None: the original drafter
    num_learned: int  # replies learned from so far


class LearningChanged(Event):
    """The drafter began to learn, while no one waits for a reply, or stopped; or another one is in use."""

    is_learning: bool
    is_paused: bool = False  # by the user
    can_learn: bool = True  # whether the drafter in use learns adapters; also where none is in use
    is_self_distilling: bool = False  # the target answers earlier prompts again, for it to learn from


class LearnedGrew(Event):
    """There is more to reuse, or another reply was scored."""


class LearnedChanged(Event):
    """The user imported or forgot what was learned, or chose another snapshot."""


class EverythingForgotten(Event):
    """All chats, and everything that was learned."""


class OwnWorkFailed(Event):
    """Something that the engine does unasked, such as erasing what was deleted."""

    sentence: Told
