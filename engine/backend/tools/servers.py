"""The file in which clients share what servers of tools there are:

    {"mcpServers": {"files": {"command": "npx", "args": ["-y", "…"], "env": {"KEY": "…"}, "cwd": "…"},
                    "notes": {"url": "https://…", "headers": {"Authorization": "…"}}}}

Some call the object `servers`, or have it alone. Two fields are those of some clients: `disabled`, and `disabledTools`,
a list of names. Others are ignored, above all what would allow a tool to be called without being asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.values.errors import SettingInvalid
from engine.values.tools import ToolServer

MOST_BYTES = 1_000_000
MOST_SERVERS = 64
_MOST_ITEMS = 1_000
_LONGEST = 32_768  # characters of a value, as much as Windows lets a command have
_LONGEST_NAME = 64
_HOLDERS = ("mcpServers", "servers")
_ADDRESS = re.compile(r"https?://[^\s/]+(/\S*)?", re.IGNORECASE)
_NOT_GIVEN = re.compile("[\0\ud800-\udfff]")


def read_tool_servers(text: str) -> tuple[ToolServer, ...]:
    """Raises SettingInvalid."""
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise SettingInvalid("These server settings are longer than a megabyte; shorten them.")
    try:
        found = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as error:
        raise SettingInvalid(
            "Line {line}, column {column} is not valid JSON: {reason}.",
            line=error.lineno,
            column=error.colno,
            reason=error.msg,
        ) from None
    except (ValueError, RecursionError):
        raise SettingInvalid("This JSON cannot be read; it is nested too deeply.") from None
    if isinstance(found, dict):
        found = next((found[each] for each in _HOLDERS if isinstance(found.get(each), dict)), found)
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise SettingInvalid('Tool servers are written as {"mcpServers": {"NAME": {"command": "…"}}}.')
    if len(found) > MOST_SERVERS:
        raise SettingInvalid(
            "There are {found} servers, but at most {most} can be used.",
            found=len(found),
            most=MOST_SERVERS,
        )
    return tuple(_server(name.strip(), each) for name, each in found.items())


def write_tool_servers(servers: Sequence[ToolServer]) -> str:
    """The format that `read_tool_servers` reads."""
    return json.dumps({_HOLDERS[0]: {each.name: _written(each) for each in servers}}, indent=2, ensure_ascii=False)


def _server(name: str, found: Mapping[str, Any]) -> ToolServer:
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        raise SettingInvalid(
            "A server's name must have 1 to {most} letters; “{name}” does not.",
            most=_LONGEST_NAME,
            name=name[:_LONGEST_NAME],
        )
    command, url = _text(name, found, "command"), _text(name, found, "url") or _text(name, found, "serverUrl")
    if bool(command) is bool(url):
        raise SettingInvalid("“{name}” must have either a command or a url.", name=name)
    if url and not _ADDRESS.fullmatch(url):
        raise SettingInvalid("The url of “{name}” must begin with http:// or https://.", name=name)
    kind = str(found.get("type", found.get("transport", ""))).lower()
    if kind == "sse":
        raise SettingInvalid(
            "“{name}” uses SSE, which is outdated; ask for its address for streamable HTTP.", name=name
        )
    return ToolServer(
        name,
        command,
        tuple(_texts(name, found, "args")),
        _pairs(name, found, "env"),
        _text(name, found, "cwd"),
        url,
        _pairs(name, found, "headers"),
        not found.get("disabled", False),
        tuple(_texts(name, found, "disabledTools")),
    )


def _written(server: ToolServer) -> dict[str, Any]:
    fields = {
        "command": server.command,
        "args": [*server.args],
        "env": dict(server.env),
        "cwd": server.folder,
        "url": server.url,
        "headers": dict(server.headers),
        "disabled": not server.is_on,
        "disabledTools": [*server.left_out],
    }
    return {key: value for key, value in fields.items() if value}


def _text(name: str, found: Mapping[str, Any], key: str) -> str:
    value = found.get(key, "")
    if not _is_text(value):
        raise SettingInvalid("The {key} of “{name}” must be a text.", key=key, name=name)
    return str(value).strip() if key != "cwd" else str(value)


def _texts(name: str, found: Mapping[str, Any], key: str) -> list[str]:
    values = found.get(key) or []
    if not isinstance(values, list) or len(values) > _MOST_ITEMS or not all(map(_is_text, values)):
        raise SettingInvalid("The {key} of “{name}” must be a list of texts.", key=key, name=name)
    return values


def _pairs(name: str, found: Mapping[str, Any], key: str) -> tuple[tuple[str, str], ...]:
    values = found.get(key) or {}
    is_fit = isinstance(values, dict) and len(values) <= _MOST_ITEMS
    if not is_fit or not all(_is_text(each) for pair in values.items() for each in pair):
        raise SettingInvalid("The {key} of “{name}” must be an object of texts.", key=key, name=name)
    return tuple(values.items())


def _is_text(value: object) -> bool:
    """One that a program can be given: without half a character, which JSON can name."""
    return isinstance(value, str) and len(value) <= _LONGEST and _NOT_GIVEN.search(value) is None
