"""Conversations: trees of messages, search hits, and their form in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from engine.values.config import OwnSampling
from engine.values.pictures import Picture
from engine.values.replies import ReplyStatistics, Thought
from engine.values.tools import ToolCall, ToolResult


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"  # the result of a call


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A message as the chat template sees it."""

    role: Role
    text: str
    thought: str = ""  # what came before the text of a reply; most templates leave it out of later prompts
    pictures: tuple[Picture, ...] = ()  # of a prompt, which the target sees before its text
    calls: tuple[ToolCall, ...] = ()  # of a reply, after its text
    answers: ToolCall | None = None  # of a result: the call that it comes of


@dataclass(frozen=True, slots=True)
class Message:
    """One node of a conversation's tree. Siblings (same parent) are the branches that regenerating creates."""

    id: int
    conversation_id: int
    parent_id: int | None
    role: Role
    text: str
    created_at: datetime
    target_name: str | None = None  # of a reply
    statistics: ReplyStatistics | None = None  # None for prompts
    thoughts: tuple[Thought, ...] = ()  # of a reply, whose text is without them
    calls: tuple[ToolCall, ...] = ()  # of a reply, whose text is without them
    result: ToolResult | None = None  # of a message of `Role.TOOL`, whose text is what the model sees
    server: str = ""  # of a reply: address of the server that wrote it; empty: this program did


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    id: int
    title: str
    updated_at: datetime
    incognito: bool = False  # held in memory only, until the app is closed
    folder_id: int | None = None
    is_pinned: bool = False
    is_archived: bool = False
    target_name: str = ""  # of its latest reply


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation with the messages of its current branch, oldest first."""

    summary: ConversationSummary
    system_prompt: str
    messages: tuple[Message, ...]
    sampling: OwnSampling = OwnSampling()
    draft: str = ""  # the unsent prompt
    siblings: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # of messages with any; ids, oldest first
    servers: tuple[str, ...] = ()  # addresses of those that have seen any branch of it, the first one first


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A conversation that contains all words of a search."""

    conversation: ConversationSummary
    message_id: int | None  # of a message with the words, preferably on the current branch; None: only the title
    snippet: str  # of that message, in one line; empty without one
    marks: tuple[tuple[int, int], ...]  # the words in the snippet: first character, number of characters
    is_thought: bool = False  # whether the snippet is of what the model thought before its answer


@dataclass(frozen=True, slots=True)
class TreeMessage:
    """A message of a tree in a file."""

    number: int  # within its tree
    parent: int | None
    role: Role
    text: str
    created_at: datetime | None  # None: unknown
    target_name: str | None = None  # of a reply
    thoughts: tuple[Thought, ...] = ()  # of a reply
    calls: tuple[ToolCall, ...] = ()  # of a reply
    result: ToolResult | None = None  # of a message of `Role.TOOL`


@dataclass(frozen=True, slots=True)
class ConversationTree:
    """A conversation with all its branches, as exported and imported."""

    title: str
    system_prompt: str
    created_at: datetime | None  # None: unknown
    updated_at: datetime | None
    messages: tuple[TreeMessage, ...]  # parents before their children
    head: int | None  # number of the leaf of the current branch
    pictures: Iterable[Picture] = field(default=(), compare=False, repr=False)  # each read when its turn comes
    folder: str = ""  # its name; empty: none
    is_pinned: bool = False
    is_archived: bool = False


class ExportFormat(StrEnum):
    JSON = "json"  # everything, to import again
    MARKDOWN = "markdown"  # the current branch, to read


class LeftOut(StrEnum):
    """Why a conversation of a file was not imported."""

    KNOWN = "known"  # it is already in the store
    EMPTY = "empty"  # it has no messages
    TOO_LARGE = "large"
    UNREADABLE = "unreadable"  # it is damaged, or in an unknown format


class Missing(StrEnum):
    """What a conversation had in the program that wrote it, and has not here."""

    PICTURE = "picture"
    FILE = "file"  # attached, of which the file has no text
    RECORDING = "recording"  # of what was spoken
    STEP = "step"  # a tool's call or result
    MESSAGE = "message"  # damaged


@dataclass(frozen=True, slots=True)
class ImportedConversations:
    num_conversations: int  # that were added
    left_out: tuple[tuple[LeftOut, str], ...]  # the others: why, and their titles (empty: not known)
    missing: tuple[tuple[Missing, int], ...] = ()  # how many of each those that were added have not


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that was read as text."""

    path: Path
    text: str
    num_bytes: int  # of the file
