"""Reads the conversations of a file, whatever program wrote it; what is not in order is refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.errors import FileUnusable
from engine.exchange import json_format, other_formats
from engine.exchange.json_stream import JsonStream
from engine.exchange.opening import open_files
from engine.messages.conversations import ConversationTree, LeftOut
from engine.messages.prompts import shortened

MOST_CHATS = 100_000  # in a file, those that are left out among them
MOST_TEXT = 256 * 2**20  # characters of all messages: they are in memory until they are written
_TITLE_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Read:
    trees: tuple[ConversationTree, ...]  # each with at least one message
    left_out: tuple[tuple[LeftOut, str], ...]  # why, and their titles


def read_chats(path: Path, check: Callable[[], None] = lambda: None) -> Read:
    """`check` is called as the file is read, and may raise what ends the reading.

    Raises FileUnusable where the file cannot be read, or holds no conversations at all.
    """
    trees: list[ConversationTree] = []
    left_out: list[tuple[LeftOut, str]] = []
    num_characters = 0
    with open_files(path) as files:
        for file in files:
            for element in _elements(JsonStream(file, check)):
                if len(trees) + len(left_out) == MOST_CHATS:
                    raise FileUnusable(f"{path.name} holds too many chats; import it in several parts.")
                read = _read(element)
                if isinstance(read, LeftOut):
                    left_out.append((read, _title(element)))
                    continue
                trees.append(read)
                num_characters += sum(len(message.text) for message in read.messages)
                if num_characters > MOST_TEXT:
                    raise FileUnusable(f"{path.name} holds too much text; import it in several parts.")
    if not trees and not any(why is LeftOut.EMPTY for why, _ in left_out):
        raise FileUnusable(
            f"{path.name} holds no chats that Slipstream can read; choose its own export, ChatGPT's, or a list "
            "of messages with roles."
        )
    return Read(tuple(trees), tuple(left_out))


def _elements(stream: JsonStream) -> Iterator[Any]:
    """What may be conversations: elements of a list, of the list in an object, or one value after the other."""
    for event, value in stream.events:
        if event == "start_array":
            yield from _list(stream)
        elif event == "start_map":
            yield from _object(stream)
        else:
            yield value


def _list(stream: JsonStream) -> Iterator[Any]:
    for event, value in stream.events:
        if event == "end_array":
            return
        yield stream.value(event, value)


def _object(stream: JsonStream) -> Iterator[Any]:
    fields: dict[str, Any] = {}
    has_list = False
    for event, key in stream.events:
        if event == "end_map":
            break
        first, value = next(stream.events)
        if key == "conversations" and first == "start_array":
            has_list = True
            _check_version(fields)
            yield from _list(stream)
        else:
            fields[key] = stream.value(first, value)
    if has_list:
        _check_version(fields)  # the version may follow the list
    else:
        yield fields


def _check_version(fields: dict[str, Any]) -> None:
    if fields.get("format") != json_format.FORMAT or "version" not in fields:
        return
    try:
        version = json_format.Header.model_validate(fields).version
    except ValidationError as error:
        raise FileUnusable("The file is damaged; export it again, or choose another one.") from error
    if version > json_format.VERSION:
        raise FileUnusable("The file was written by a newer version of Slipstream; install that version.")


def _read(element: Any) -> ConversationTree | LeftOut:
    match element:
        case {"mapping": _}:
            read = other_formats.read_chatgpt
        case {"messages": _, "head": _} | {"messages": _, "system_prompt": _}:
            read = json_format.read
        case {"messages": _}:
            read = other_formats.read_message_list
        case _:
            return LeftOut.UNREADABLE
    try:
        tree = read(element)
    except (ValueError, RecursionError):  # pydantic's and ours
        return LeftOut.UNREADABLE
    return tree if tree.messages else LeftOut.EMPTY


def _title(element: object) -> str:
    title = element.get("title") if isinstance(element, dict) else None
    return shortened(title, _TITLE_LENGTH) if isinstance(title, str) else ""
