"""Conversations as one reads them: the current branch of each, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.messages.conversations import ConversationTree, Role, TreeMessage


def write(trees: Iterable[ConversationTree]) -> Iterator[str]:
    """The pieces of a file."""
    for place, each in enumerate(trees):
        if place:
            yield "\n---\n\n"
        yield from _conversation(each)


def branch(tree: ConversationTree) -> list[TreeMessage]:
    """The messages of the current branch, oldest first."""
    messages = {message.number: message for message in tree.messages}
    found: list[TreeMessage] = []
    number = tree.head
    while number is not None:
        message = messages.pop(number, None)  # in a damaged store a circle comes to an end
        if message is None:
            break
        found.append(message)
        number = message.parent
    return found[::-1]


def _conversation(tree: ConversationTree) -> Iterator[str]:
    yield f"# {' '.join(tree.title.split())}\n"
    if tree.created_at is not None:
        yield f"\n*{tree.created_at.astimezone():%Y-%m-%d %H:%M}*\n"
    if tree.system_prompt.strip():
        yield f"\n## System prompt\n\n{tree.system_prompt.strip()}\n"
    for message in branch(tree):
        yield f"\n## {_author(message)}\n\n{message.text.strip()}\n"


def _author(message: TreeMessage) -> str:
    if message.role is Role.ASSISTANT:
        return " ".join((message.target_name or "Model").split())
    return "You" if message.role is Role.USER else "System"
