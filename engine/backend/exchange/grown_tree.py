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

    With `joins_turns`, what one role says in several messages one after the other becomes one message, unless there are
    calls between. A message that answers none that is there, or itself by way of others, begins a branch of its own.
    Raises TooLarge.
    """
    if len(nodes) > MOST_MESSAGES:
        raise TooLarge("too many messages")
    places: dict[str | int, int] = {
        node.key: place for place, node in reversed([*enumerate(nodes)])
    }  # of several with a name, the first
    parents = [None if node.parent is None else places.get(node.parent) for node in nodes]
    messages: dict[int, TreeMessage] = {}
    number_of: dict[int | None, int | None] = {None: None}  # of the message that each node became, by its place
    joined_to: dict[int, int] = {}  # the message that each goes on from; texts are joined when it is known which stay
    for place in parents_first(parents):
        node, parent = nodes[place], number_of[parents[place]]
        if node.role is None:
            number_of[place] = parent
            continue
        said = (node.role, node.text, node.created_at, node.target_name, node.thoughts, node.calls, node.result)
        message = TreeMessage(len(messages) + 1, parent, *said)
        before = messages[parent] if parent is not None else None
        joins = joins_turns and before is not None and before.role == node.role != Role.TOOL and not before.calls
        if joins and before is not None:
            name = message.target_name or before.target_name
            message = replace(message, parent=before.parent, target_name=name)
            joined_to[message.number] = before.number
        messages[message.number] = message
        number_of[place] = message.number
    wanted = number_of.get(None if head is None else places.get(head)) or max(messages, default=None)
    if joined_to:
        answered = {message.parent for message in messages.values()}
        gone = {number for number in joined_to.values() if number not in answered}
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


def parents_first(parents: list[int | None]) -> list[int]:
    """Places in order; the parent of the first of those that answer each other in a circle becomes None."""
    children: dict[int | None, list[int]] = {}
    for place, parent in enumerate(parents):
        children.setdefault(parent, []).append(place)
    ordered: list[int] = []
    seen: set[int] = set()
    waiting = deque(children.get(None, ()))
    for first in range(len(parents)):
        if not waiting and first not in seen:
            begin = min(_circle_above(first, parents))
            parents[begin] = None
            waiting.append(begin)
        while waiting:
            place = waiting.popleft()
            seen.add(place)
            ordered.append(place)
            waiting.extend(each for each in children.get(place, ()) if each not in seen)
    return ordered


def _circle_above(place: int, parents: Sequence[int | None]) -> Sequence[int]:
    """Those that answer each other in a circle, above one for which no other beginning is known."""
    walked: dict[int, None] = {}
    while place not in walked:
        walked[place] = None
        above = parents[place]
        assert above is not None
        place = above
    path = [*walked]
    return path[path.index(place) :]


def _with_joined_texts(
    messages: Mapping[int, TreeMessage], joined_to: Mapping[int, int], gone: Set[int]
) -> list[TreeMessage]:
    """Those that are not gone."""
    _check_size(messages, joined_to, gone)
    joined = []
    for message in messages.values():
        if message.number in gone:
            continue
        line = [message]
        while line[-1].number in joined_to:
            line.append(messages[joined_to[line[-1].number]])
        joined.append(_joined(line[::-1]) if line[1:] else message)
    return joined


def _joined(line: Sequence[TreeMessage]) -> TreeMessage:
    """The last one, with the texts and thoughts of those before it."""
    pieces: list[str] = []
    thoughts: list[Thought] = []
    begin = 0  # of a text among those that are joined
    for place, message in enumerate(line):
        text = message.text if place == 0 or not pieces else message.text.lstrip()
        text = text if place == len(line) - 1 else text.rstrip()
        thoughts += [replace(each, place=begin + min(each.place, len(text))) for each in message.thoughts]
        if text:
            pieces.append(text)
            begin += len(text) + len(_BETWEEN)
    return replace(line[-1], text=_BETWEEN.join(pieces), thoughts=tuple(thoughts))


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
