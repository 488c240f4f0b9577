"""Reads the conversations of a file, whatever program wrote it. One that is not in order is left out, and the others
are read; a file that is not is refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.backend.exchange import json_format, other_formats
from engine.backend.exchange.grown_tree import MOST_MESSAGES, TooLarge
from engine.backend.exchange.json_stream import TITLES, Flawed, JsonStream
from engine.backend.exchange.kept import KeptTrees, SizesOf
from engine.backend.exchange.local_programs import with_lines_joined
from engine.backend.exchange.opening import open_files
from engine.backend.exchange.turns import Found
from engine.values.conversations import LeftOut, Missing
from engine.values.errors import FileUnusable
from engine.values.prompts import shortened

MOST_CHATS = 100_000  # in a file, those that are left out among them
MOST_TEXT = 256 * 2**20  # characters of all messages, where branches repeat what stands before them
FIELDS = json_format.FIELDS | other_formats.FIELDS
_TITLE_LENGTH = 200
_NOTHING: Mapping[Missing, int] = {}  # one for all
_OF_FLAWED = {*TITLES, "conversations", "format", "version"}  # what is read of an object with another field that is


@dataclass(frozen=True, slots=True)
class Read:
    trees: KeptTrees  # each with at least one message
    left_out: tuple[tuple[LeftOut, str], ...]  # why, and their titles
    missing: tuple[Mapping[Missing, int], ...]  # in each of the trees


def read_chats(
    path: Path,
    check: Callable[[], None] = lambda: None,
    sizes_of: SizesOf = lambda pictures: [None for _ in pictures],
) -> Read:
    """`check` is called as the file is read, and may raise what ends the reading. `sizes_of`: widths and heights of
    pictures, None for one that is not sound, which is left out.

    Raises FileUnusable where the file cannot be read, or holds no conversations at all.
    """
    trees = KeptTrees()
    left_out: list[tuple[LeftOut, str]] = []
    missing: list[Mapping[Missing, int]] = []
    num_characters = num_events = 0
    with open_files(path, check) as files:
        for file in files:
            stream = JsonStream(file, FIELDS, check, num_events, trees.put_aside)
            for element in with_lines_joined(_elements(stream), stream):
                if len(trees) + len(left_out) == MOST_CHATS:
                    raise FileUnusable("{name} contains too many chats; import it in several parts.", name=path.name)
                if isinstance(element, dict) and "chunkedPrompt" in element:
                    element.setdefault("title", path.name.removesuffix(".json"))  # AI Studio gives no other
                found = _read(element)
                if isinstance(found, LeftOut):
                    left_out.append((found, _title(element)))
                    continue
                read, not_here = found
                missing.append(not_here or _NOTHING)
                trees.add(read, json_format.pictures_of(element))
                num_characters += sum(
                    len(message.text)
                    + sum(len(thought.text) for thought in message.thoughts)
                    + sum(len(call.arguments) for call in message.calls)
                    for message in read.messages
                )
                if num_characters > MOST_TEXT:
                    raise FileUnusable("{name} contains too much text; import it in several parts.", name=path.name)
            num_events = stream.num_events
    if not trees and all(why is LeftOut.UNREADABLE for why, _ in left_out):
        raise FileUnusable(
            "{name} contains no chats that Slipstream can read; choose an export of Slipstream, ChatGPT, Claude, "
            "Open WebUI, LM Studio, SillyTavern, llama-server or Google AI Studio, or a list of messages with roles.",
            name=path.name,
        )
    trees.look_at_pictures(sizes_of)
    return Read(trees, tuple(left_out), tuple(missing))


def _elements(stream: JsonStream) -> Iterator[Any]:
    """What may be conversations: elements of a list, of the list in an object, or one value after the other."""
    for event, value in stream.events:
        stream.begin()
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
        stream.begin()
        yield stream.value(event, value)


def _object(stream: JsonStream) -> Iterator[Any]:
    fields: dict[str, Any] = {}
    flawed: Flawed | None = None
    has_list = False  # the fields are not those of a conversation
    for event, key in stream.events:
        if event == "end_map":
            break
        if key not in FIELDS or (flawed and key not in _OF_FLAWED):
            stream.skip()
            continue
        first, value = next(stream.events)
        if key == "conversations" and first == "start_array":
            has_list = True
            _check_version(fields)
            yield from _list(stream)
        else:
            fields[key] = found = stream.value(first, value, key)
            if isinstance(found, Flawed):
                flawed = flawed or found
                fields = {each: fields[each] for each in _OF_FLAWED & fields.keys()}
    if has_list:
        _check_version(fields)  # the version may follow the list
    elif flawed:
        yield Flawed(flawed.why, _title(fields))
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


def _read(element: Any) -> Found | LeftOut:
    match element:
        case {"mapping": dict() | list() as found} | {"messages": dict() | list() as found} if (
            len(found) > MOST_MESSAGES  # before each of them becomes an object of its own
        ):
            return LeftOut.TOO_LARGE
        case {"messages": list(), "head": _} | {"messages": list(), "system_prompt": _}:
            read: Callable[[dict[str, Any]], Found] | None = json_format.read
        case Flawed(why):
            return why
        case dict():
            read = other_formats.reader_of(element)
        case _:
            return LeftOut.UNREADABLE
    try:
        made = read(element) if read else None
    except TooLarge:
        return LeftOut.TOO_LARGE
    except (ValueError, RecursionError):  # pydantic's and ours
        return LeftOut.UNREADABLE
    if made is None:
        return LeftOut.UNREADABLE
    return made if made[0].messages else LeftOut.EMPTY


def _title(element: object) -> str:
    if isinstance(element, Flawed):
        return shortened(element.title, _TITLE_LENGTH)
    found = element if isinstance(element, dict) else {}
    titles = (title for title in map(found.get, TITLES) if isinstance(title, str))
    return shortened(next(titles, ""), _TITLE_LENGTH)
