"""What the engine tells its listener, in the order it happens. Plain values; emitted on the engine's threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.messages.commands import CheckForUpdate, Command, Compare, EstimateMemory, LoadTarget, UseAdapter
from engine.messages.comparison import Comparison, RunFigures, Side
from engine.messages.conversations import Conversation, ConversationSummary, LeftOut, Message, SearchHit, TextFile
from engine.messages.history import History
from engine.messages.learned import FingerprintPair, ImportOutcome, LearnedSummary, ProfileSummary
from engine.messages.replies import OriginRun
from engine.messages.speed import LiveFigures
from engine.messages.targets import HubFile, HubModel, LibraryTarget, MemoryEstimate, Runtime


@dataclass(frozen=True, slots=True)
class Release:
    """A version of Slipstream that can be had."""

    version: str
    page: str  # where, for a browser


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """A loaded target, in words and numbers for the interface."""

    name: str
    path: str
    description: str  # architecture, size and quantization as llama.cpp names them
    context_size: int  # tokens
    size_bytes: int
    threads: int
    notice: str = ""  # what the user should know about this target, in sentences; usually empty
    speculation: str = ""  # what drafts ahead of it, or why nothing does, in a sentence
    awaits_drafter: bool = (
        False  # one is still being loaded; `SpeculationChanged` tells when it is ready, or is not to be
    )
    num_gpu_layers: int = 0  # on graphics cards
    gpu: str = ""  # what these are called; empty where there are none
    identity: str = ""  # as in `TargetSource`


@dataclass(frozen=True, slots=True)
class TargetLoading:
    name: str
    progress: float  # 0 … 1


@dataclass(frozen=True, slots=True)
class TargetReady:
    target: TargetInfo
    command: LoadTarget


@dataclass(frozen=True, slots=True)
class SpeculationChanged:
    """The drafter of a target is ready, or could not be made so."""

    target_name: str
    sentence: str
    is_drafting: bool


@dataclass(frozen=True, slots=True)
class DrafterFetching:
    """How much of a drafter has arrived from the hub, what an earlier try brought included."""

    name: str
    file: str  # the one under way
    num_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class DrafterFetched:
    """The drafter is here, and needs the network no more."""

    name: str


@dataclass(frozen=True, slots=True)
class TargetsListed:
    """The whole library after a change, or because it was asked for: the starter first, then last used first."""

    targets: tuple[LibraryTarget, ...]
    left_out: tuple[str, ...] = ()  # of what was to be added: why it was not, a sentence for each


@dataclass(frozen=True, slots=True)
class MemoryEstimated:
    command: EstimateMemory
    estimate: MemoryEstimate


@dataclass(frozen=True, slots=True)
class HubSearched:
    words: str
    models: tuple[HubModel, ...]  # most downloaded first


@dataclass(frozen=True, slots=True)
class HubFilesListed:
    repository: str
    files: tuple[HubFile, ...]  # smallest first


@dataclass(frozen=True, slots=True)
class TargetDownloading:
    """How much of a model file has arrived, what an earlier try brought included."""

    file: HubFile
    num_bytes: int
    bytes_per_s: float  # 0: not known yet


@dataclass(frozen=True, slots=True)
class TargetDownloaded:
    """The file is whole, checked, and in the library."""

    file: HubFile
    path: Path


@dataclass(frozen=True, slots=True)
class DownloadsListed:
    """Downloads that wait to go on, with the bytes that are here."""

    downloads: tuple[tuple[HubFile, int], ...]


@dataclass(frozen=True, slots=True)
class ConversationsListed:
    conversations: tuple[ConversationSummary, ...]  # last used first


@dataclass(frozen=True, slots=True)
class ConversationChanged:
    """Created, renamed, restored, or used just now."""

    conversation: ConversationSummary


@dataclass(frozen=True, slots=True)
class ConversationDeleted:
    conversation: ConversationSummary


@dataclass(frozen=True, slots=True)
class ConversationOpened:
    conversation: Conversation


@dataclass(frozen=True, slots=True)
class ConversationForgotten:
    """It is gone for good."""

    conversation: ConversationSummary


@dataclass(frozen=True, slots=True)
class ConversationsFound:
    words: str
    hits: tuple[SearchHit, ...]  # last used conversations first; at most so many as a list can show


@dataclass(frozen=True, slots=True)
class ConversationsExported:
    path: Path
    num_conversations: int


@dataclass(frozen=True, slots=True)
class ConversationsImported:
    path: Path
    num_conversations: int  # that are new in the store
    left_out: tuple[tuple[LeftOut, str], ...]  # why, and the title of each of the others; empty: not known


@dataclass(frozen=True, slots=True)
class TextFileRead:
    file: TextFile


@dataclass(frozen=True, slots=True)
class PromptKept:
    """The user's turn is in the store; its reply is being prepared."""

    message: Message
    siblings: tuple[int, ...] = ()  # as in `Conversation.siblings`, where it has any


@dataclass(frozen=True, slots=True)
class ReplyStarted:
    """The prompt is rendered. `parent_id` is the prompt that is being answered.

    `left_out_messages` counts the oldest messages that no longer fit into the context.
    """

    conversation_id: int
    parent_id: int
    prompt_tokens: int
    left_out_messages: int


@dataclass(frozen=True, slots=True)
class PromptProgress:
    conversation_id: int
    num_evaluated: int
    num_total: int


@dataclass(frozen=True, slots=True)
class ReplyText:
    """A piece of the reply, in order; never half a character."""

    conversation_id: int
    text: str
    figures: LiveFigures  # of the reply so far
    origins: tuple[OriginRun, ...] = ()  # of `text`, in order


@dataclass(frozen=True, slots=True)
class ContextTrimmed:
    """The context filled up in the middle of a reply, and the oldest messages left."""

    conversation_id: int
    left_out_messages: int


@dataclass(frozen=True, slots=True)
class ReplyFinished:
    """The reply as it was kept. Its text is final and replaces what was streamed."""

    message: Message
    siblings: tuple[int, ...] = ()  # as in `Conversation.siblings`, where it has any


@dataclass(frozen=True, slots=True)
class TokensCounted:
    text: str
    num_tokens: int | None  # None: not counted, as so long a text fits into no context


@dataclass(frozen=True, slots=True)
class DrafterLearned:
    """From the next reply on the drafter guesses with another adapter; or with that of before, after a start."""

    number: int | None  # of the adapter; None: the drafter as it came
    before: float  # tokens accepted per round, on replies that it did not learn from: as it came
    after: float  # with what it learned last
    num_learned: int  # replies that it learned from so far
    is_return: bool  # whether it is an earlier adapter that did better


@dataclass(frozen=True, slots=True)
class HistoryRead:
    history: History


@dataclass(frozen=True, slots=True)
class CompareText:
    """A piece of one of the replies that are compared, in order."""

    side: Side
    turn: int  # how often this side has answered before
    text: str
    figures: RunFigures  # of this reply so far; rounds are counted when it has ended
    is_finished: bool = False


@dataclass(frozen=True, slots=True)
class CompareFinished:
    command: Compare
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class LearnedRead:
    """How much is learned, because it was asked for or has just been changed."""

    summary: LearnedSummary
    in_use: FingerprintPair | None  # the vocabulary of the target and the drafter that are loaded


@dataclass(frozen=True, slots=True)
class ProfileShown:
    path: Path
    summary: ProfileSummary


@dataclass(frozen=True, slots=True)
class ProfileExported:
    path: Path
    num_bytes: int
    with_recall: bool


@dataclass(frozen=True, slots=True)
class ProfileImported:
    path: Path
    outcome: ImportOutcome
    replaced: bool


@dataclass(frozen=True, slots=True)
class AdapterUsed:
    """It is in use from the next reply on."""

    command: UseAdapter
    before: int | None  # the number of the one that was in use; None: the drafter as it came


@dataclass(frozen=True, slots=True)
class LearnedForgotten:
    pass


@dataclass(frozen=True, slots=True)
class EverythingForgotten:
    num_conversations: int


@dataclass(frozen=True, slots=True)
class UpdateChecked:
    command: CheckForUpdate
    release: Release | None  # a newer one than this


@dataclass(frozen=True, slots=True)
class RuntimeRead:
    runtime: Runtime


@dataclass(frozen=True, slots=True)
class Finished:
    """A command was carried out. Every command that is begun ends with this or with `Failed`, after its own events."""

    command: Command


@dataclass(frozen=True, slots=True)
class Failed:
    """A command failed; the engine goes on with what it had. `sentence` says what to do about it."""

    sentence: str
    command: Command
    is_stopped: bool = False  # its signal was set, so that somebody wanted it to end


Event = (
    TargetLoading
    | TargetReady
    | SpeculationChanged
    | DrafterFetching
    | DrafterFetched
    | TargetsListed
    | MemoryEstimated
    | HubSearched
    | HubFilesListed
    | TargetDownloading
    | TargetDownloaded
    | DownloadsListed
    | ConversationsListed
    | ConversationChanged
    | ConversationDeleted
    | ConversationOpened
    | ConversationForgotten
    | ConversationsFound
    | ConversationsExported
    | ConversationsImported
    | TextFileRead
    | PromptKept
    | ReplyStarted
    | PromptProgress
    | ReplyText
    | ContextTrimmed
    | ReplyFinished
    | TokensCounted
    | DrafterLearned
    | HistoryRead
    | CompareText
    | CompareFinished
    | LearnedRead
    | ProfileShown
    | ProfileExported
    | ProfileImported
    | AdapterUsed
    | LearnedForgotten
    | EverythingForgotten
    | UpdateChecked
    | RuntimeRead
    | Finished
    | Failed
)

Listener = Callable[[Event], None]
