"""Writes conversations to a file, whole or not at all, in our own format or as Markdown to read."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine.backend.exchange import json_format
from engine.values.conversations import ConversationTree, ExportFormat, Role, TreeMessage
from engine.values.errors import FileUnusable
from engine.values.prompts import with_names
from engine.values.whole_file import whole_file

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def write_chats(path: Path, trees: Iterable[ConversationTree], form: ExportFormat, overwrite: bool) -> None:
    """Readable by this user alone. Raises FileUnusable, and what `trees` raises; the file that was there before then
    stays as it was."""
    write_file(path, json_format.write(trees) if form is ExportFormat.JSON else markdown(trees), overwrite)


def write_file(path: Path, pieces: Iterable[str], overwrite: bool) -> None:
    """Writes the pieces of a text in UTF-8, as `write_chats` does."""
    path = path.absolute()
    _check_free(path, overwrite)
    try:
        with whole_file(path) as file:
            file.writelines(piece.encode("utf-8", "replace") for piece in pieces)
            _check_free(path, overwrite)
    except OSError as error:
        raise _not_written(path, error) from error


def _check_free(path: Path, overwrite: bool) -> None:
    if path.is_dir():
        raise FileUnusable("{name} is a folder; give the file another name.", name=path.name)
    if path.exists() and not overwrite:
        raise FileUnusable("{name} exists already; give the file another name.", name=path.name)


def _not_written(path: Path, error: OSError) -> FileUnusable:
    if error.errno in _FULL:
        return FileUnusable(
            "The disk is full, and {name} was not written; free some space and try again.", name=path.name
        )
    if isinstance(error, FileNotFoundError):
        return FileUnusable("The folder {folder} is no longer there; choose another one.", folder=path.parent)
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return FileUnusable("You may not write to the folder {folder}; choose another one.", folder=path.parent)
    return FileUnusable(
        "{name} cannot be written ({reason}); choose another place.", name=path.name, reason=error.strerror
    )


def markdown(trees: Iterable[ConversationTree]) -> Iterator[str]:
    """The pieces of a file to read: the current branch of each conversation."""
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
        yield f"\n## {_author(message)}\n"
        place, text = 0, with_names(message.text, "*picture: {}*")
        for thought in message.thoughts:
            yield _paragraph(text[place : thought.place])
            place = thought.place
            yield _quoted(f"*Thought for {max(1, round(thought.seconds))} s*\n\n{thought.text}")
        yield _paragraph(text[place:]) if message.result is None else _quoted(text)
        for call in message.calls:
            yield _quoted(f"*Calls {call.tool}*\n\n```json\n{call.arguments}\n```")


def _paragraph(text: str) -> str:
    return f"\n{text.strip()}\n" if text.strip() else ""


def _quoted(text: str) -> str:
    return "\n" + "".join(f"> {line}".rstrip() + "\n" for line in text.splitlines())


def _author(message: TreeMessage) -> str:
    if message.role is Role.ASSISTANT:
        return " ".join((message.target_name or "Model").split())
    if message.role is Role.TOOL:
        return "Tool" if message.result is None else " ".join(f"{message.result.call.tool}".split()) or "Tool"
    return "You" if message.role is Role.USER else "System"
