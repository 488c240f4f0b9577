"""What the engine reports to its listener, in the order in which it happens, on the engine's threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import dataclass_transform

from engine.values.asked import Refusal
from engine.values.commands import Command
from engine.values.conversations import Conversation, ConversationSummary, Message
from engine.values.drafters import DrafterChoice
from engine.values.order import Folder, LibraryPrompt, Preset
from engine.values.remote import RemoteServer, reference_in
from engine.values.replies import OriginRun, ReplyStatistics, Thought, ThoughtPiece, TokenLog
from engine.values.sentences import Told
from engine.values.speed import LiveFigures
from engine.values.targets import LibraryTarget, LoadOrder
from engine.values.tools import Redefined, ServerState, Tool, ToolCall


@dataclass_transform(frozen_default=True)
class Event:
    """Something happened in the engine. Events are frozen dataclasses."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """A loaded target, in words and numbers for the interface. Of one on a server, `path` and `gpu` are empty, sizes
    and threads 0, and nobody drafts for it here (`can_draft`, `speculation`)."""

    name: str
    path: str
    description: str  # architecture, size and quantization as llama.cpp names them
    context_size: int  # tokens; 0: a server does not tell
    size_bytes: int
    threads: int
    notice: Told = ""  # what the user should know about this target, in sentences; usually empty
    speculation: Told = ""  # what drafts for it, or why nothing does, in a sentence
    awaits_drafter: bool = False  # it is still being loaded; `SpeculationChanged` follows
    can_draft: bool = True  # whether anybody may draft for it, now or later
    num_gpu_layers: int = 0  # on graphics cards
    gpu: str = ""  # names of these; empty if there are none
    identity: str = ""  # as in `TargetSource`, or `RemoteModel.identity`
    thinks: bool | None = None  # whether it thinks before it answers, unless it is told; None: it cannot be told
    sees_pictures: bool = False  # whether prompts can hold some
    calls_tools: bool = False  # whether its chat template knows how to, or its server does not deny it
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
    """A target could not be loaded, and nobody stopped it."""

    order: LoadOrder
    sentence: Told  # says what to do about it
    error: type[Exception]


class SpeculationChanged(Event):
    """The drafter of a target is being loaded, is ready, or could not be loaded."""

    target_name: str
    sentence: Told
    is_drafting: bool
    awaits_drafter: bool = False  # it is still being loaded; another event follows
    can_draft: bool = True  # whether anybody may draft, now or later
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
    """On request or after a change, by their names."""

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


class ReplyStarted(Event):
    """The prompt is rendered."""

    conversation_id: int
    parent_id: int  # the prompt that is being answered
    prompt_tokens: int
    left_out_messages: int  # oldest messages that no longer fit into the context


class ReplyWaits(Event):
    """The server that is to write the reply has not begun, and is asked again by itself; or the target is occupied
    otherwise. Until then the reply can be stopped as any other. Told once for each time."""

    conversation_id: int
    sentence: Told  # what it waits for, and how long


class PromptProgress(Event):
    conversation_id: int
    num_evaluated: int
    num_total: int


class ReplyText(Event):
    """The next piece of the reply; never half a character."""

    conversation_id: int
    text: str
    figures: LiveFigures  # of the reply so far
    origins: tuple[OriginRun, ...] = ()  # of `text`, in order


class ReplyThought(Event):
    """The next piece of what the model thinks before it answers, which is no part of the reply's text."""

    conversation_id: int
    piece: ThoughtPiece
    figures: LiveFigures  # of the reply so far


class ReplyCall(Event):
    """The next piece of a call that the model is writing, in its own format, which is no part of the reply's text.
    `ReplyFinished` has the calls."""

    conversation_id: int
    text: str
    figures: LiveFigures  # of the reply so far


class ReplyRepeats(Event):
    """The reply that is being written has begun to repeat itself without end; told once for each reply."""

    conversation_id: int


class ContextTrimmed(Event):
    """The context filled up in the middle of a reply, and the oldest messages were left out."""

    conversation_id: int
    left_out_messages: int


class ReplyFinished(Event):
    """The stored reply. Its text is final and replaces what was streamed."""

    message: Message  # as in `PromptStored`
    siblings: tuple[int, ...] = ()  # as in `Conversation.siblings`, if it has any


class AnswerEvent(Event):
    """Concerns a client of the server, and nobody else."""


class AnswerStarted(AnswerEvent):
    number: int  # of the command
    num_tokens: int  # of the prompt


class AnswerText(AnswerEvent):
    number: int
    text: str
    logs: tuple[TokenLog, ...] = ()  # of its tokens, where they were asked for


class AnswerThought(AnswerEvent):
    number: int
    text: str


class AnswerEnded(AnswerEvent):
    """It was written, or stopped, or failed in the middle."""

    number: int
    text: str
    thoughts: tuple[Thought, ...]
    calls: tuple[ToolCall, ...]
    statistics: ReplyStatistics
    failure: str = ""  # a sentence


class EmbeddingsMade(AnswerEvent):
    number: int
    model: str  # its name
    vectors: tuple[bytes, ...]  # of each text, in float32, little-endian, of length 1
    num_tokens: int  # of all texts


class AnswerRefused(AnswerEvent):
    """Nothing was written."""

    number: int
    refusal: Refusal
    sentence: str


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
    """From the next reply on the drafter uses another adapter, or the stored one after a start."""

    number: int | None  # of the adapter; None: the original drafter
    num_learned: int  # replies learned from so far


class LearningChanged(Event):
    """The drafter began to learn, while nobody waits for a reply, or ended; or another one is in use."""

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


class Finished(Event):
    """A command was carried out. Every command that is begun ends with this or `Failed`, after its other events."""

    command: Command


class Failed(Event):
    """A command failed; the engine goes on as before. `sentence` says what to do about it."""

    sentence: Told
    command: Command
    is_stopped: bool = False  # its stop signal was set
    is_missing: bool = False  # the model file that it needs is not there
    is_suspect: bool = False  # the program ended when the model was opened last; it is opened only if the user asks
    # Chats may be sent to the server of this target only after the user has agreed. Nothing was sent or stored
    is_not_agreed: bool = False
