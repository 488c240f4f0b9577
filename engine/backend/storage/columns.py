"""How values are written in columns. SQLite holds any kind of value in any column, whatever the schema says, so what we
cannot have written counts as nothing."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Dialect,
    Insert,
    LargeBinary,
    Text,
    TypeDecorator,
    cast,
    func,
    type_coerce,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute

from engine.values.replies import OriginRun, Thought
from engine.values.tools import Outcome, ToolCall, ToolResult

Heads = tuple[int, ...]  # ids of the leaves of branches
Calls = tuple[ToolCall, ...]
MOST_READ_BYTES = 2**24  # of a text: more than a target can read at once, and than an import can hold
_PIECE_BYTES = 2**20  # of a text, decoded at once
T = TypeVar("T")


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime, stored as UTC."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else value.replace(tzinfo=UTC)


def read_time(stored: str) -> datetime | None:
    """Reads what `UtcDateTime` wrote, where SQLAlchemy does not."""
    try:
        return datetime.fromisoformat(stored).replace(tzinfo=UTC)
    except ValueError:
        return None


class FilePath(TypeDecorator[Path]):
    """A path as text, or as its bytes where those are not UTF-8 (POSIX allows such names)."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Path | None, dialect: Dialect) -> str | bytes | None:  # noqa: ARG002
        if value is None:
            return None
        try:
            str(value).encode()
        except UnicodeEncodeError:
            return os.fsencode(value)
        return str(value)

    def process_result_value(self, value: str | bytes | None, dialect: Dialect) -> Path | None:  # noqa: ARG002
        return None if value is None else Path(os.fsdecode(value))


class LongText(TypeDecorator[str]):
    """A text that is read as bytes and decoded in pieces: decoded by the driver, 30 million letters would block all
    other threads for a tenth of a second. Damaged UTF-8 is replaced by U+FFFD. A text longer than any that Slipstream
    writes is cut, and ends with “…”."""

    impl = Text
    cache_ok = True

    def column_expression(self, column: ColumnElement[Any]) -> ColumnElement[Any]:
        return type_coerce(beginning_of(column), self)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002
        return "".join(pieces_of(value)) if isinstance(value, bytes) else value


def beginning_of(column: ColumnElement[Any] | InstrumentedAttribute[str]) -> ColumnElement[bytes]:
    """The part of a text that may be read, plus one byte if the text is longer."""
    return func.coalesce(func.substr(cast(column, LargeBinary), 1, MOST_READ_BYTES + 1), b"")  # NULL where it is empty


def pieces_of(raw: bytes) -> Iterator[str]:
    """Decodes a text that was read as `beginning_of` reads it."""
    if len(raw) <= _PIECE_BYTES:  # nearly all texts
        yield raw.decode(errors="replace")
        return
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    for start in range(0, len(raw), _PIECE_BYTES):
        yield decode(raw[start : start + _PIECE_BYTES])
    yield "…" if len(raw) > MOST_READ_BYTES else decode(b"", True)


class _AsJson(TypeDecorator[T]):
    """A value as JSON. SQLAlchemy looks for `cache_ok` in every class itself."""

    impl = Text
    write: Callable[[T], object]
    read: Callable[[Any], T | None]

    def process_bind_param(self, value: T | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        if value is None:
            return None
        text = json.dumps(type(self).write(value), ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="replace").decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> T | None:  # noqa: ARG002
        return type(self).read(value)


def _parsed(stored: object, read: Callable[[Any], T], nothing: T) -> T:
    if stored in (None, "[]", b"[]"):
        return nothing
    try:
        return read(json.loads(stored))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, RecursionError):
        return nothing


def thoughts_from(stored: object) -> tuple[Thought, ...]:
    return _parsed(stored, _thoughts, ())


def calls_from(stored: object) -> Calls:
    return _parsed(stored, lambda rows: tuple(map(_call, rows)), ())


def result_from(stored: object) -> ToolResult | None:
    return _parsed(stored, _result, None)


def _heads_from(stored: object) -> Heads:
    return _parsed(stored, lambda found: tuple(each for each in found if type(each) is int), ())


def _origins_from(stored: object) -> tuple[OriginRun, ...]:
    return _parsed(stored, _runs, ())


def _pairs(runs: tuple[OriginRun, ...]) -> list[list[int | str]]:
    return [[run.num_characters, run.origin] for run in runs]


def _runs(pairs: Any) -> tuple[OriginRun, ...]:
    runs = tuple(OriginRun(int(length), origin) for length, origin in pairs)
    if not all(isinstance(run.origin, str) for run in runs):
        raise TypeError("There is an origin that is no key.")
    return runs


def _thought_rows(thoughts: tuple[Thought, ...]) -> list[list[object]]:
    return [
        [each.place, each.text, each.seconds, each.num_tokens, each.is_whole, _pairs(each.origins)] for each in thoughts
    ]


def _thoughts(rows: Any) -> tuple[Thought, ...]:
    return tuple(
        Thought(abs(int(place)), str(text), round(seconds, 3), abs(int(num)), bool(whole), _runs(origins))
        for place, text, seconds, num, whole, origins in rows
        if isfinite(seconds)
    )


def _fields(call: ToolCall) -> list[str]:
    return [call.id, call.server, call.tool, call.arguments]


def _call(fields: Any) -> ToolCall:
    number, server, tool, arguments = map(str, fields)
    return ToolCall(number, server, tool, arguments)


def _result(fields: Any) -> ToolResult | None:
    call, outcome, seconds, num_left_out = fields
    if not isfinite(seconds):
        return None
    return ToolResult(_call(call), Outcome(outcome), round(abs(seconds), 3), abs(int(num_left_out)))


class OriginRuns(_AsJson[tuple[OriginRun, ...]]):
    cache_ok = True
    write, read = staticmethod(_pairs), staticmethod(_origins_from)


class Thoughts(_AsJson[tuple[Thought, ...]]):
    cache_ok = True
    write, read = staticmethod(_thought_rows), staticmethod(thoughts_from)


class MessageIds(_AsJson[Heads]):
    cache_ok = True
    write, read = staticmethod(lambda heads: heads), staticmethod(_heads_from)


class ToolCalls(_AsJson[Calls]):
    cache_ok = True
    write, read = staticmethod(lambda calls: list(map(_fields, calls))), staticmethod(calls_from)


class ToolResults(_AsJson[ToolResult]):
    cache_ok = True
    write = staticmethod(lambda each: [_fields(each.call), each.outcome.value, each.seconds, each.num_left_out])
    read = staticmethod(result_from)


def upsert(row: type[DeclarativeBase], *changed: str) -> Insert:
    """Inserts a row, or replaces these columns of the one with the same key."""
    new = sqlite.insert(row)
    return new.on_conflict_do_update(set_={name: new.excluded[name] for name in changed})
