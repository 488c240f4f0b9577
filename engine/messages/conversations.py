"""Conversations as frozen values: trees of messages, search hits, and what files hold of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from engine.config import OwnSampling
from engine.messages.replies import ReplyStatistics


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A message as the chat template sees it."""

    role: Role
    text: str


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
