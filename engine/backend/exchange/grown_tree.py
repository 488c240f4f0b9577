"""Makes a sound tree of messages from what a file says: every parent before its children, nothing in circles."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Generic, TypeVar

from engine.values.conversations import ConversationTree, Role, TreeMessage
from engine.values.prompts import with_names
from engine.values.replies import Thought
from engine.values.tools import ToolCall, ToolResult

MOST_MESSAGES = 20_000  # of a conversation
MOST_CHARACTERS = 32 * 2**20  # of all its messages: branches of joined turns repeat the text before them
MOST_JOINED = 4 * 2**20  # characters of a message that is joined; the store reads no more of one
_BETWEEN = "\n\n"  # turns that are joined
_JOINING = 64  # characters that could be copied while a turn is joined
_TITLE_LENGTH = 60
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)

_Key = TypeVar("_Key", str, int)


class Unsound(ValueError):
    """The messages are no tree."""


class TooLarge(ValueError):
    """There are too many messages, or too much text."""


@dataclass(frozen=True, slots=True)
class FileNode(Generic[_Key]):
    """What a file says of one message. Without a role it only joins its children to its parent."""

    key: _Key
    parent: _Key | None
    role: Role | None
    text: str
    created_at: datetime | None = None
    target_name: str | None = None
    thoughts: tuple[Thought, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    result: ToolResult | None = None


def grow(
    nodes: Sequence[FileNode[_Key]], head: _Key | None, joins_turns: bool = False
) -> tuple[list[TreeMessage], int | None]:
    """The messages, numbered from 1 on, parents first, and the number of the head: the node's own, or that of its
    nearest ancestor that is a message. Without a head it is the last message.

    With `joins_turns`, what one role says in several messages one after the other becomes one message. Raises Unsound
    and TooLarge.
    """
    if len(nodes) > MOST_MESSAGES:
        raise TooLarge("too many messages")
    by_key = {node.key: node for node in nodes}
    ordered = _parents_first(nodes, by_key)
    messages: dict[int, TreeMessage] = {}
    number_of: dict[_Key | None, int | None] = {None: None}  # of the message that each node became
    joined_to: dict[int, int] = {}  # the message that each goes on from; texts are joined when it is known which stay
    for node in ordered:
        parent = number_of[node.parent]
        if node.role is None:
            number_of[node.key] = parent
            continue
        said = (node.role, node.text, node.created_at, node.target_name, node.thoughts, node.calls, node.result)
        message = TreeMessage(len(messages) + 1, parent, *said)
        before = messages[parent] if parent is not None else None
        if joins_turns and before is not None and before.role == node.role:
            message = replace(message, parent=before.parent)
            joined_to[message.number] = before.number
        messages[message.number] = message
        number_of[node.key] = message.number
    wanted = number_of.get(head) or max(messages, default=None)
    if joined_to:
        parents = {message.parent for message in messages.values()}
        gone = {number for number in joined_to.values() if number not in parents}
        if wanted in gone:
            wanted = max(messages.keys() - gone)
        return _numbered(_with_joined_texts(messages, joined_to, gone), wanted)
    return list(messages.values()), wanted


def sound_time(moment: datetime | None) -> datetime | None:
    """The moment in UTC; None for one that no clock can have shown."""
    if moment is None or moment.tzinfo is None:
        return None
    try:
        moment = moment.astimezone(UTC)
    except (OverflowError, ValueError):
        return None
    return moment if EARLIEST <= moment <= LATEST else None


def time_from(seconds: float | None) -> datetime | None:
    """The moment this many seconds after the start of 1970."""
    try:
        return None if seconds is None else sound_time(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return None


def title_of(title: str | None, messages: Iterable[TreeMessage]) -> str:
    """The title that a file gives, or the first line of the first prompt."""
    if title and title.strip():
        return title.strip()
    prompt = next((message.text for message in messages if message.role == Role.USER), "")
    line = next(iter(with_names(prompt).lstrip()[: _TITLE_LENGTH + 1].splitlines()), "").rstrip()
    return line if len(line) <= _TITLE_LENGTH else line[:_TITLE_LENGTH].rsplit(" ", 1)[0] + "…"


def _parents_first(nodes: Sequence[FileNode[_Key]], by_key: Mapping[_Key, FileNode[_Key]]) -> list[FileNode[_Key]]:
    if len(by_key) < len(nodes):
        raise Unsound("two messages have the same name")
    children: dict[_Key | None, list[FileNode[_Key]]] = {}
    for node in nodes:
        if node.parent is not None and node.parent not in by_key:
            raise Unsound("a message answers one that is not there")
        children.setdefault(node.parent, []).append(node)
    ordered: list[FileNode[_Key]] = []
    waiting = deque(children.get(None, ()))
    while waiting:
        node = waiting.popleft()
        ordered.append(node)
        waiting.extend(children.get(node.key, ()))
    if len(ordered) < len(nodes):
        raise Unsound("messages answer each other in a circle")
    return ordered


def _with_joined_texts(
    messages: Mapping[int, TreeMessage], joined_to: Mapping[int, int], gone: Set[int]
) -> list[TreeMessage]:
    """Those that are not gone."""
    _check_size(messages, joined_to, gone)
    joined = []
    for message in messages.values():
        if message.number in gone:
            continue
        pieces = [message.text]
        number = message.number
        while number in joined_to:
            number = joined_to[number]
            pieces[-1] = pieces[-1].lstrip()
            pieces.append(messages[number].text.rstrip())
        joined.append(replace(message, text=_BETWEEN.join(reversed(pieces))))
    return joined


def _check_size(messages: Mapping[int, TreeMessage], joined_to: Mapping[int, int], gone: Set[int]) -> None:
    """Adds up sizes before any text is joined: the branches of a chat may repeat so much that joining them takes
    seconds."""
    num_joined: dict[int, int] = {}  # characters that stand before each
    num_characters = 0
    for number, message in messages.items():  # parents first
        before = joined_to.get(number)
        num_joined[number] = 0 if before is None else num_joined[before] + len(messages[before].text) + _JOINING
        if number not in gone:
            num_characters += num_joined[number] + len(message.text)
            if num_characters > MOST_CHARACTERS or (before and num_joined[number] + len(message.text) > MOST_JOINED):
                raise TooLarge("too much text")


def _numbered(messages: Sequence[TreeMessage], head: int | None) -> tuple[list[TreeMessage], int | None]:
    """Numbered from 1 on, without gaps."""
    number_of: dict[int | None, int | None] = {None: None}
    numbered = []
    for number, message in enumerate(messages, 1):
        number_of[message.number] = number
        numbered.append(replace(message, number=number, parent=number_of[message.parent]))
    return numbered, number_of[head]


def tree(
    title: str | None,
    system_prompt: str,
    times: tuple[datetime | None, datetime | None],
    grown: tuple[list[TreeMessage], int | None],
) -> ConversationTree:
    """`times`: when it began, and when it was used last."""
    messages, head = grown
    began, used = map(sound_time, times)
    return ConversationTree(title_of(title, messages), system_prompt, began, used, tuple(messages), head)
