"""What the store keeps, as plain frozen values that travel between threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import OwnSampling, TargetOptions
from engine.figures import DecodingFigures
from engine.speed import Speedup, speedup_of

if TYPE_CHECKING:  # the window is up before numpy is needed
    import numpy as np
    import numpy.typing as npt


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class StopReason(StrEnum):
    """Why a reply ended."""

    END = "end"  # the target wrote an end-of-generation token
    STOP_STRING = "stop_string"  # one of the stop strings appeared
    LENGTH = "length"  # the allowed number of tokens was reached
    CONTEXT_FULL = "context_full"  # the context is full and nothing older can leave
    STOPPED = "stopped"  # the user pressed Stop
    FAILED = "failed"  # an error ended it; the text so far is kept


class Origin(StrEnum):
    """Who thought of a token first; the target checked it in any case."""

    TARGET = "target"
    DRAFTER = "drafter"
    RECALL = "recall"


@dataclass(frozen=True, slots=True)
class OriginRun:
    """Characters of a reply that stand side by side and have one origin."""

    num_characters: int
    origin: Origin


class TextKind(StrEnum):
    """What a reply mostly is; how well it can be guessed depends on that."""

    PROSE = "prose"
    CODE = "code"
    NUMBERS = "numbers"
    LISTS = "lists"


@dataclass(frozen=True, slots=True)
class ReplyStatistics:
    """Counts are tokens of the target; times are wall-clock seconds.

    `reply_s` runs from the end of the prompt pass to the last token, so that it measures writing alone.
    Rounds: passes after the prompt; drafted/accepted: target tokens that were checked / that stood.
    """

    prompt_tokens: int  # length of the rendered prompt
    evaluated_tokens: int  # of these, evaluated for this reply; the others were still held from the turn before
    reply_tokens: int
    prompt_s: float
    reply_s: float
    stop_reason: StopReason
    context_used: int  # tokens held when the reply ended
    context_size: int
    left_out_messages: int = 0  # oldest messages that no longer fitted into the context
    num_rounds: int = 0
    num_drafted: int = 0
    num_accepted: int = 0
    plain_tokens_per_s: float = 0.0  # what this machine writes without drafts, measured meanwhile; 0 = not known
    plain_error: float = 0.0  # standard error of that, as a share of it
    draft_s: float = 0.0  # of `reply_s`, in proposing
    check_s: float = 0.0  # of `reply_s`, in the target's passes and the acceptance
    drafter_accepted: int = 0  # of the accepted tokens, the drafter's
    recall_accepted: int = 0  # and those of recall
    kind: TextKind = TextKind.PROSE
    origins: tuple[OriginRun, ...] = ()  # of the reply's text, in order; empty: not known

    @property
    def speedup(self) -> float | None:
        """Over plain decoding, by this machine's own measure; None where that is not known."""
        if not self.plain_tokens_per_s or not self.tokens_per_s:
            return None
        return self.tokens_per_s / self.plain_tokens_per_s

    @property
    def told_speedup(self) -> Speedup | None:
        """What may be said of it to a user: None too where nothing was drafted, the reply is short, or plain decoding
        is not known well. The error is that of the plain speed alone."""
        if not self.num_drafted:
            return None
        return speedup_of(self.tokens_per_s, 0.0, self.plain_tokens_per_s, self.plain_error, self.reply_tokens)

    @property
    def tokens_per_round(self) -> float:
        return (self.num_rounds + self.num_accepted) / self.num_rounds if self.num_rounds else 0.0

    @property
    def tokens_per_s(self) -> float:
        """Tokens written per second: the first was drawn from the prompt's logits, and where the target ended the
        reply, its end was one more."""
        num_passes = self.reply_tokens if self.stop_reason is StopReason.END else self.reply_tokens - 1
        return num_passes / self.reply_s if self.reply_s > 0 and num_passes > 0 else 0.0


@dataclass(frozen=True, slots=True)
class VerifiedReply:
    """A reply to learn from: what was written, and the target's likeliest tokens before each of them."""

    tokens: npt.NDArray[np.int32]  # shape (n,), the one that ended it included
    law_tokens: npt.NDArray[np.int32]  # shape (n, k), likeliest first
    law_logs: npt.NDArray[
        np.float16
    ]  # shape (n, k): natural logarithms of their probabilities at temperature 1, others left out


@dataclass(frozen=True, slots=True)
class Reply:
    """What a target wrote."""

    text: str
    statistics: ReplyStatistics
    failure: Exception | None = None  # what ended it, where the reason is FAILED
    tokens: tuple[int, ...] = ()  # the target's
    figures: DecodingFigures = field(default_factory=DecodingFigures)
    verified: VerifiedReply | None = None  # where that was asked for


@dataclass(frozen=True, slots=True)
class Message:
    """One node of a conversation's tree. Siblings (same parent) are the branches that regenerating leaves behind."""

    id: int
    conversation_id: int
    parent_id: int | None
    role: Role
    text: str
    created_at: datetime
    target_name: str | None = None  # who wrote it, for replies
    statistics: ReplyStatistics | None = None  # None for prompts


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    id: int
    title: str
    updated_at: datetime
    incognito: bool = False  # held in memory only, and gone when the app is closed


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation with the messages of its current branch, oldest first."""

    summary: ConversationSummary
    system_prompt: str
    messages: tuple[Message, ...]
    sampling: OwnSampling = OwnSampling()
    draft: str = ""  # a prompt that was begun and not sent
    siblings: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # ids, oldest first and its own among them,
    # of every message of the branch that has any


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A conversation in which all words of a search occur."""

    conversation: ConversationSummary
    message_id: int | None  # that has the words, rather one of the current branch; None: only the title has them
    snippet: str  # of that message, in one line; else empty
    marks: tuple[tuple[int, int], ...]  # where words stand in the snippet: first character, number of characters


@dataclass(frozen=True, slots=True)
class TreeMessage:
    """A message of a tree that is read from a file, or written to one."""

    number: int  # within its tree
    parent: int | None
    role: Role
    text: str
    created_at: datetime | None  # None: not known
    target_name: str | None = None  # who wrote it, for replies


@dataclass(frozen=True, slots=True)
class ConversationTree:
    """A whole conversation with all its branches, as it travels between stores."""

    title: str
    system_prompt: str
    created_at: datetime | None  # None: not known
    updated_at: datetime | None
    messages: tuple[TreeMessage, ...]  # parents before their children
    head: int | None  # number of the leaf of the current branch


class ExportFormat(StrEnum):
    JSON = "json"  # everything, to be imported again
    MARKDOWN = "markdown"  # the current branch, to be read


class LeftOut(StrEnum):
    """Why a conversation of a file was not imported."""

    KNOWN = "known"  # it is in the store already
    EMPTY = "empty"  # it holds no messages
    UNREADABLE = "unreadable"  # it is damaged, or in no format that is known


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that was read as text."""

    path: Path
    text: str
    num_bytes: int  # of the file


@dataclass(frozen=True, slots=True)
class TargetRecord:
    """A model file of the library."""

    name: str
    path: Path
    size_bytes: int
    last_used_at: datetime | None  # None: it was never loaded
    options: TargetOptions = TargetOptions()
    facts: str = ""  # what its header says, in the library's own words; empty: not read yet


@dataclass(frozen=True, slots=True)
class TargetDetails:
    """What the header of a model file says. Empty or 0 where it says nothing."""

    name: str
    architecture: str
    num_parameters: int
    quantization: str
    trained_context: int  # tokens
    vocabulary_size: int  # tokens
    vocabulary_kind: str  # as in `BPE (smollm)`
    has_chat_template: bool
    licence: str
    can_speculate: bool
    speculation: str  # why it can or cannot be drafted for, in a sentence


@dataclass(frozen=True, slots=True)
class LibraryTarget:
    """A target of the library, as the window lists it."""

    name: str
    path: Path
    size_bytes: int
    last_used_at: datetime | None  # None: never
    is_starter: bool
    details: TargetDetails | None  # None where the file cannot be read
    problem: str  # why it cannot be loaded, in a sentence; else empty
    options: TargetOptions


class DeviceKind(StrEnum):
    GPU = "gpu"  # with memory of its own
    INTEGRATED = "integrated"  # it shares the machine's memory


@dataclass(frozen=True, slots=True)
class ComputeDevice:
    """A graphics card that llama.cpp can compute on."""

    name: str  # llama.cpp's own, as in `Vulkan0`
    description: str  # as its driver calls it
    backend: str  # what llama.cpp reaches it by: `CUDA`, `Vulkan`, `Metal` …
    kind: DeviceKind
    total_memory: int  # bytes
    free_memory: int  # bytes, when it was asked


@dataclass(frozen=True, slots=True)
class GpuSupport:
    """What llama.cpp can compute on beside the CPU."""

    backends: tuple[str, ...] = ()  # that it was built with; empty: for the CPU only
    devices: tuple[ComputeDevice, ...] = ()  # that it would use, all together; empty: none was found

    @property
    def description(self) -> str:
        return ", ".join(device.description for device in self.devices)


@dataclass(frozen=True, slots=True)
class GpuShare:
    """What of a target goes on graphics cards."""

    support: GpuSupport = GpuSupport()
    num_layers: int = 0  # that go there
    all_layers: int = 0  # that could, its output counted as one; 0: not known
    num_bytes: int = 0  # that they take there, with their part of the context and the buffers of a pass
    room: int = 0  # bytes for them
    twice: int = 0  # of these bytes, those that the machine has to hold as well


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes that a target is going to take."""

    weights: int
    context: int  # what it holds of a conversation
    work: int  # buffers of a pass
    available: int  # free for programs on this machine now, what the loaded target takes included
    gpu: GpuShare = GpuShare()

    @property
    def total(self) -> int:
        return self.weights + self.context + self.work

    @property
    def on_machine(self) -> int:
        """What is left for the machine's own memory."""
        return max(0, self.total - self.gpu.num_bytes + self.gpu.twice)

    @property
    def is_too_much(self) -> bool:
        """For the machine, or for its graphics cards."""
        return self.on_machine > self.available or self.gpu.num_bytes > self.gpu.room


@dataclass(frozen=True, slots=True)
class HubModel:
    """A repository of the hub that holds model files."""

    repository: str  # `owner/name`
    num_downloads: int
    num_likes: int
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class HubFile:
    """A model file of a repository. One that is in several parts is told by its first, with the size of all."""

    repository: str
    name: str
    size_bytes: int
    quantization: str  # as its name tells; empty if it does not
    num_parts: int = 1


@dataclass(frozen=True, slots=True)
class NgramRecord:
    """A string of a drafter's tokens that one token of a target was seen to be made of."""

    string: tuple[int, ...]  # the drafter's tokens, shape (n,), n >= 1
    token: int  # the target's
    count: int  # how often the target wrote it, one more for what the bytes alone tell; 0: the n-gram is gone
    doubts: int  # how often the target wrote other tokens in its place
    last_use: int  # in the cache's own time, which counts what it learned; larger is later


@dataclass(frozen=True, slots=True)
class RecallText:
    """A message in the tokens of one target's vocabulary."""

    message_id: int
    conversation_id: int
    tokens: npt.NDArray[np.int32]  # shape (n,)


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A message as the chat template sees it."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class LessonRecord:
    """A reply to learn from, that was kept."""

    message_id: int  # of the reply
    conversation_id: int
    created_at: datetime
    turns: tuple[ChatTurn, ...]  # that it answers, as they were rendered: the system prompt if there is one, then
    # the branch from its root to the reply's parent
    reply: VerifiedReply


@dataclass(frozen=True, slots=True)
class AdapterSummary:
    """What a drafter has learned for one target, judged by replies that it did not learn from."""

    number: int  # never given twice in a store; larger is later
    created_at: datetime
    before: float  # tokens accepted per round on the replies it was judged by, without it
    after: float  # and with it
    num_replies: int  # it was judged by
    num_learned: int  # replies it has learned from so far
    is_published: bool  # in use
    ordinal: int = field(default=0, kw_only=True)  # among all that its target ever had here, from 1; 0: not counted


@dataclass(frozen=True, slots=True)
class AdapterRecord(AdapterSummary):
    weights: bytes = field(repr=False)  # a safetensors file


@dataclass(frozen=True, slots=True)
class Release:
    """A version of Slipstream that can be had."""

    version: str
    page: str  # where, for a browser


@dataclass(frozen=True, slots=True)
class Runtime:
    """What runs the models."""

    build: str  # of llama.cpp
    features: tuple[str, ...]  # of the processor or the GPU that it uses, as llama.cpp names them
