"""Tools: what the servers that a user has set up offer, the calls that a model writes, and what came of them.

A reply that calls has its calls; each call's result is a message of `Role.TOOL` below it, one below the other, and the
next reply follows the last of them: the tree stays one line for each branch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
MOST_TURNS = 25  # replies in a row that may call tools, before a user is asked to go on


@dataclass(frozen=True, slots=True)
class ToolServer:
    """A program on this machine (`command`), or an address (`url`), that offers tools by the Model Context Protocol."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    folder: str = ""  # that the command is run in; empty: the user's own
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    is_on: bool = True
    left_out: tuple[str, ...] = ()  # of its tools, that no model is told of

    @property
    def identity(self) -> str:
        """What a permission is given to: the same name may come to stand for another program."""
        from hashlib import sha256  # which loads OpenSSL: three milliseconds of every start

        return sha256(json.dumps([self.command, self.args, self.folder, self.url]).encode()).hexdigest()


class ServerState(StrEnum):
    STARTING = "starting"
    READY = "ready"
    ENDED = "ended"  # it is started again when it is used
    FAILED = "failed"  # likewise


@dataclass(frozen=True, slots=True)
class Tool:
    server: str
    name: str
    description: str = ""
    schema: str = "{}"  # of its arguments, as JSON
    title: str = ""  # as people read it; empty: the name


@dataclass(frozen=True, slots=True)
class ToolCall:
    """As a model wrote it."""

    id: str  # nine letters and digits, as some templates want them; no other call has it
    server: str  # empty: no server has such a tool
    tool: str
    arguments: str = "{}"  # a JSON object, unless the model wrote none


class Permission(StrEnum):
    """What a user answers when a call is asked for."""

    ONCE = "once"
    CHAT = "chat"  # this tool, in this chat
    ALWAYS = "always"  # this tool, in every chat
    REFUSED = "refused"


class Outcome(StrEnum):
    DONE = "done"
    FAILED = "failed"  # the tool says so, or its server failed, or there is no such tool
    REFUSED = "refused"  # by the user
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"  # by the user, while it was asked for or carried out


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a call. The text that the model is told is that of the message."""

    call: ToolCall
    outcome: Outcome
    seconds: float = 0.0  # that it took, without the time in which it was asked for
    num_left_out: int = 0  # characters of the tool's answer that are not in the text


@dataclass(frozen=True, slots=True)
class AllowedTool:
    """One that is called in every chat without being asked for."""

    server: str
    tool: str
    identity: str  # of the server


def told_names(tools: Iterable[Tool]) -> dict[str, Tool]:
    """The names that a model is told, and the tools that they stand for: where servers share one, theirs comes before
    it."""
    by_name: dict[str, list[Tool]] = {}
    for tool in tools:
        by_name.setdefault(tool.name, []).append(tool)
    told: dict[str, Tool] = {}
    for name, found in by_name.items():
        for tool in found:
            full = name if len(found) == 1 else f"{_NOT_IN_NAMES.sub('_', tool.server)}_{name}"
            told.setdefault(full, tool)
    return told
