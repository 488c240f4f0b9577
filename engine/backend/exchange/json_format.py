"""Our own format for conversations, version 1: a JSON object, in UTF-8.

    {"format": "slipstream-conversations", "version": 1, "exported_at": "2026-01-02T03:04:05+00:00",
     "conversations": [
      {"title": "…", "system_prompt": "…",              the target's instructions; may be empty
       "created_at": "…", "updated_at": "…",            ISO 8601 with the offset
       "head": 2,                                       id of the leaf of the current branch; null: no messages
       "folder": "…", "pinned": true, "archived": true, only where it is so
       "messages": [
        {"id": 1, "parent": null, "role": "user", "text": "…", "created_at": "…", "model": null},
        {"id": 2, "parent": 1, "role": "assistant", "text": "…", "created_at": "…", "model": "SmolLM2",
         "thoughts": [{"place": 0, "text": "…", "seconds": 12.5, "tokens": 300}],        only where there are any
         "calls": [{"id": "…", "server": "…", "tool": "…", "arguments": "{…}"}]},        likewise optional
        {"id": 3, "parent": 2, "role": "tool", "text": "…", "created_at": "…", "model": null,
         "result": {"call": {…}, "outcome": "done", "seconds": 0.5, "left_out": 0}}],    likewise optional
       "pictures": [{"digest": "…", "base64": ["…", "…"]}]}]}                            only where there are any

Messages form a tree: those with the same parent are branches. Roles are `user`, `assistant`, `system` and
`tool`. A thought is what the model wrote for itself; `place` is the number of characters of the text before it. A call
is one of a tool, and what came of it is a message of the role `tool`. A prompt names a picture by
its digest, the SHA-256 of the PNG or JPEG file that follows in pieces. Readers ignore unknown fields and refuse unknown
versions.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, Field, StrictInt

from engine.backend.exchange.grown_tree import FileNode, grow, sound_time, tree
from engine.backend.exchange.json_stream import PIECES
from engine.backend.exchange.kept import PicturePiece
from engine.values.conversations import ConversationTree, Missing, Role
from engine.values.pictures import Picture
from engine.values.replies import Thought
from engine.values.tools import Outcome, ToolCall, ToolResult

FORMAT = "slipstream-conversations"
VERSION = 1
_PIECE_BYTES = 3 * 2**18  # of a picture in one string: a reader parses no long ones


class Header(BaseModel):
    format: Literal["slipstream-conversations"]
    version: StrictInt = Field(ge=1)


class _Thought(BaseModel):
    place: StrictInt = Field(0, ge=0)
    text: str
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    tokens: StrictInt = Field(0, ge=0)


class _Call(BaseModel):
    id: str = ""
    server: str = ""
    tool: str = ""
    arguments: str = "{}"


class _Result(BaseModel):
    call: _Call
    outcome: Outcome = Outcome.DONE
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    left_out: StrictInt = Field(0, ge=0)


class _JsonMessage(BaseModel):
    id: StrictInt
    parent: StrictInt | None = None
    role: Role
    text: str
    created_at: AwareDatetime | None = None
    model: str | None = None
    thoughts: list[_Thought] = []
    calls: list[_Call] = []
    result: _Result | None = None


class _JsonConversation(BaseModel):
    title: str = ""
    system_prompt: str = ""
    created_at: AwareDatetime | None = None
    updated_at: AwareDatetime | None = None
    head: StrictInt | None = None
    folder: str = ""
    pinned: bool = False
    archived: bool = False
    messages: list[_JsonMessage]


FIELDS = frozenset({"conversations"}).union(
    *(each.model_fields for each in (Header, _JsonConversation, _JsonMessage, _Thought, _Call, _Result)),
    ("pictures", "digest", PIECES),
)


def read(element: dict[str, Any]) -> tuple[ConversationTree, Mapping[Missing, int]]:
    """Raises ValueError."""
    found = _JsonConversation.model_validate(element)
    nodes = [
        FileNode(
            key=each.id,
            parent=each.parent,
            role=each.role,
            text=each.text,
            created_at=sound_time(each.created_at),
            target_name=each.model,
            thoughts=_thoughts(each),
            calls=tuple(ToolCall(**dict(call)) for call in each.calls),
            result=None if each.result is None else _result(each.result),
        )
        for each in found.messages
    ]
    grown = tree(found.title, found.system_prompt, (found.created_at, found.updated_at), grow(nodes, found.head))
    return replace(grown, folder=found.folder, is_pinned=found.pinned, is_archived=found.archived), {}


def pictures_of(element: dict[str, Any]) -> dict[str, list[PicturePiece]]:
    """The pieces of each, by its digest."""
    pictures = {}
    for each in found if isinstance(found := element.get("pictures"), list) else ():
        match each:
            case {"digest": str(digest), "base64": list(pieces)} if all(
                isinstance(piece, PicturePiece) for piece in pieces
            ):
                pictures[digest] = pieces
    return pictures


def write(trees: Iterable[ConversationTree]) -> Iterator[str]:
    """The pieces of a file."""
    header = {"format": FORMAT, "version": VERSION, "exported_at": datetime.now(UTC).isoformat(timespec="seconds")}
    yield json.dumps(header)[:-1] + ', "conversations": ['
    for place, each in enumerate(trees):
        yield (",\n" if place else "\n") + json.dumps(_element(each), ensure_ascii=False)[:-1]
        opening = ', "pictures": [\n'
        for picture in each.pictures:
            yield opening + json.dumps(_written_picture(picture))
            opening = ",\n"
        yield "]}" if opening == ",\n" else "}"
    yield "\n]}\n"


def _element(each: ConversationTree) -> dict[str, Any]:
    numbers = {message.number: place for place, message in enumerate(each.messages, 1)}
    return {
        "title": each.title,
        "system_prompt": each.system_prompt,
        "created_at": _written(each.created_at),
        "updated_at": _written(each.updated_at),
        "head": None if each.head is None else numbers[each.head],
        **({"folder": each.folder} if each.folder else {}),
        **({"pinned": True} if each.is_pinned else {}),
        **({"archived": True} if each.is_archived else {}),
        "messages": [
            {
                "id": numbers[message.number],
                "parent": None if message.parent is None else numbers[message.parent],
                "role": message.role.value,
                "text": message.text,
                "created_at": _written(message.created_at),
                "model": message.target_name,
                **(
                    {"thoughts": [_written_thought(thought) for thought in message.thoughts]}
                    if message.thoughts
                    else {}
                ),
                **({"calls": [asdict(call) for call in message.calls]} if message.calls else {}),
                **({} if message.result is None else {"result": _written_result(message.result)}),
            }
            for message in each.messages
        ],
    }


def _thoughts(message: _JsonMessage) -> tuple[Thought, ...]:
    found = sorted(message.thoughts, key=lambda each: each.place)
    length = len(message.text)
    return tuple(
        Thought(min(each.place, length), each.text, each.seconds, each.tokens, is_whole=True) for each in found
    )


def _result(result: _Result) -> ToolResult:
    return ToolResult(ToolCall(**dict(result.call)), result.outcome, result.seconds, result.left_out)


def _written_result(result: ToolResult) -> dict[str, Any]:
    told = {"outcome": result.outcome.value, "seconds": round(result.seconds, 3), "left_out": result.num_left_out}
    return {"call": asdict(result.call), **told}


def _written_picture(picture: Picture) -> dict[str, Any]:
    places = range(0, len(picture.data), _PIECE_BYTES)
    pieces = [base64.b64encode(picture.data[place : place + _PIECE_BYTES]).decode() for place in places]
    return {"digest": picture.digest, PIECES: pieces}


def _written_thought(thought: Thought) -> dict[str, Any]:
    return {
        "place": thought.place,
        "text": thought.text,
        "seconds": round(thought.seconds, 3),
        "tokens": thought.num_tokens,
    }


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
