"""Reads the conversations of a file, whatever program wrote it; what is not in order is refused in a sentence."""

from __future__ import annotations

import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.errors import ChatsUnreadable
from engine.exchange import chatgpt, json_format, message_lists
from engine.exchange.json_stream import MOST_BYTES, Bytes, JsonStream
from engine.exchange.zipped import open_members
from engine.messages.conversations import ConversationTree, LeftOut
from engine.messages.titles import shortened

MOST_CHATS = 100_000  # in a file, those that are left out among them
MOST_TEXT = 256 * 2**20  # characters of all messages: they are in memory until they are written
_TITLE_LENGTH = 200

# What zipfile raises for archives that are not whole, encrypted, or packed in a way it does not know.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    struct.error,
)

_FORMATS: tuple[tuple[Callable[[dict[str, Any]], bool], Callable[[dict[str, Any]], ConversationTree]], ...] = (
    (chatgpt.is_chatgpt, chatgpt.read),
    (json_format.is_ours, json_format.read),
    (message_lists.is_message_list, message_lists.read),
)


@dataclass(frozen=True, slots=True)
class Read:
    trees: tuple[ConversationTree, ...]  # each with at least one message
    left_out: tuple[tuple[LeftOut, str], ...]  # why, and their titles


def read_chats(path: Path, check: Callable[[], None] = lambda: None) -> Read:
    """`check` is called between conversations, and may raise what ends the reading.

    Raises ChatsUnreadable where the file cannot be read, or holds no conversations at all.
    """
    trees: list[ConversationTree] = []
    left_out: list[tuple[LeftOut, str]] = []
    num_characters = 0
    with _opened(path) as files:
        for file in files:
            for element in _elements(JsonStream(file)):
                check()
                if len(trees) + len(left_out) == MOST_CHATS:
                    raise ChatsUnreadable(f"{path.name} holds too many chats; import it in several parts.")
                read = _read(element)
                if isinstance(read, LeftOut):
                    left_out.append((read, _title(element)))
                    continue
                trees.append(read)
                num_characters += sum(len(message.text) for message in read.messages)
                if num_characters > MOST_TEXT:
                    raise ChatsUnreadable(f"{path.name} holds too much text; import it in several parts.")
    if not trees and not any(why is LeftOut.EMPTY for why, _ in left_out):
        raise ChatsUnreadable(
            f"{path.name} holds no chats that Slipstream can read; choose its own export, ChatGPT's, or a list "
            "of messages with roles."
        )
    return Read(tuple(trees), tuple(left_out))


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[Bytes]]:
    """The JSON files that a path stands for: itself, or those within an archive."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would keep us waiting for ever
            raise ChatsUnreadable(f"{path.name} is no file; choose a file with chats.")
        with path.open("rb") as file:
            if file.read(4) == b"PK\x03\x04":
                file.seek(0)
                yield open_members(file, path)
            elif status.st_size > MOST_BYTES:
                raise ChatsUnreadable(
                    f"{path.name} is too large; chats are imported from at most {MOST_BYTES // 2**20} MB."
                )
            else:
                file.seek(0)
                yield iter((file,))
    except FileNotFoundError as error:
        raise ChatsUnreadable(f"{path.name} is not there any more; choose another file.") from error
    except _DAMAGED as error:
        raise ChatsUnreadable(f"{path.name} is damaged or encrypted; download it again.") from error
    except OSError as error:
        raise ChatsUnreadable(f"{path.name} cannot be read ({error.strerror or 'damaged'}); choose another.") from error


def _elements(stream: JsonStream) -> Iterator[Any]:
    """What may be conversations: elements of a list, of the list in an object, or one value after the other."""
    while stream.peek():
        if stream.peek() == "[":
            yield from stream.elements()
        elif stream.peek() == "{":
            yield from _object(stream)
        else:
            yield stream.value()


def _object(stream: JsonStream) -> Iterator[Any]:
    fields: dict[str, Any] = {}
    has_list = False
    for key in stream.object_keys():
        if key == "conversations" and stream.peek() == "[":
            has_list = True
            _check_version(fields)
            yield from stream.elements()
        else:
            fields[key] = stream.value()
    if has_list:
        _check_version(fields)  # it may stand behind them
    else:
        yield fields


def _check_version(fields: dict[str, Any]) -> None:
    if fields.get("format") != json_format.FORMAT or "version" not in fields:
        return
    try:
        version = json_format.Header.model_validate(fields).version
    except ValidationError as error:
        raise ChatsUnreadable("The file is damaged; export it again, or choose another one.") from error
    if version > json_format.VERSION:
        raise ChatsUnreadable("The file was written by a newer version of Slipstream; install that version.")


def _read(element: object) -> ConversationTree | LeftOut:
    if not isinstance(element, dict):
        return LeftOut.UNREADABLE
    for is_it, read in _FORMATS:
        if is_it(element):
            try:
                tree = read(element)
            except (ValueError, RecursionError):  # pydantic's and ours
                return LeftOut.UNREADABLE
            return tree if tree.messages else LeftOut.EMPTY
    return LeftOut.UNREADABLE


def _title(element: object) -> str:
    title = element.get("title") if isinstance(element, dict) else None
    return shortened(title, _TITLE_LENGTH) if isinstance(title, str) else ""
