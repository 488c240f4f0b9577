"""Tools: what the servers that a user has set up offer, the calls that a model writes, and what came of them.

A reply that calls has its calls; each call's result is a message of `Role.TOOL` below it, one below the other, and the
next reply follows the last of them: the tree stays one line for each branch.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass
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
    left_out: tuple[str, ...] = ()  # of its tools, hidden from models

    @property
    def identity(self) -> str:
        """The same name may come to stand for another program."""
        return _digest(self.command, self.args, self.folder, self.url)


class ServerState(StrEnum):
    STARTING = "starting"
    READY = "ready"
    ENDED = "ended"  # it is started again when it is used
    FAILED = "failed"  # it is started again when it is used


@dataclass(frozen=True, slots=True)
class Tool:
    server: str
    name: str
    description: str = ""
    schema: str = "{}"  # of its arguments, as JSON
    title: str = ""  # as people read it; empty: the name


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as a model wrote it."""

    id: str  # nine letters and digits, as some templates want them; no other call has it
    server: str  # empty: no server has such a tool
    tool: str
    arguments: str = "{}"  # a JSON object, unless the model wrote none


UNDONE = "This was not carried out."  # the result of a call that has none, as models read it


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
    """What came of a call. The text that the model sees is that of the message."""

    call: ToolCall
    outcome: Outcome
    seconds: float = 0.0  # that it took, without the time in which it was asked for
    num_left_out: int = 0  # characters of the tool's answer that are not in the text


class Change(StrEnum):
    """What is no longer as it was in the definition of a tool."""

    PROGRAM = "program"  # of its server, or the address
    ENVIRONMENT = "environment"  # or headers
    DESCRIPTION = "description"
    ARGUMENTS = "arguments"


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """What a permission is given to."""

    program: str  # `ToolServer.identity`
    environment: str  # a digest: there are keys in it
    description: str
    schema: str

    def changes_since(self, before: ToolDefinition) -> tuple[Change, ...]:
        pairs = zip(Change, astuple(before), astuple(self), strict=True)
        return tuple(change for change, old, new in pairs if old != new)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Their names; none where another program has changed what is stored."""
        try:
            found = json.loads(self.schema)
        except (ValueError, RecursionError):
            return ()
        properties = found.get("properties") if isinstance(found, dict) else None
        return tuple(properties) if isinstance(properties, dict) else ()


def definition_of(server: ToolServer, tool: Tool) -> ToolDefinition:
    return ToolDefinition(server.identity, _digest(server.env, server.headers), tool.description, tool.schema)


@dataclass(frozen=True, slots=True)
class Redefined:
    """A tool that was allowed and has changed since."""

    changes: tuple[Change, ...]
    description: str  # before
    new_arguments: tuple[str, ...]  # names


@dataclass(frozen=True, slots=True)
class AllowedTool:
    """One that is called in every chat, or in one, without being asked for."""

    server: str
    tool: str
    definition: ToolDefinition


def told_names(tools: Iterable[Tool]) -> dict[str, Tool]:
    """The names shown to a model, and the tools that they stand for: each tool has one, and no server can take that of
    another's. Where servers share a name, or one equals another's with its server as prefix, both get their server as
    prefix."""
    own = [*{(tool.server, tool.name): tool for tool in reversed([*tools])}.values()][::-1]
    shared: set[Tool] = set()
    while True:
        names = [f"{_NOT_IN_NAMES.sub('_', tool.server)}_{tool.name}" if tool in shared else tool.name for tool in own]
        counts = Counter(names)
        more = {tool for tool, name in zip(own, names, strict=True) if counts[name] > 1} - shared
        if not more:
            break
        shared |= more
    told: dict[str, Tool] = {}
    for tool, name in zip(own, names, strict=True):
        numbered = (f"{name}_{number}" for number in itertools.count(2))
        free = name if name not in told else next(each for each in numbered if each not in told and each not in counts)
        told[free] = tool
    return told


def _digest(*values: object) -> str:
    from hashlib import sha256  # which loads OpenSSL: three milliseconds of every start

    return sha256(json.dumps(values).encode()).hexdigest()
