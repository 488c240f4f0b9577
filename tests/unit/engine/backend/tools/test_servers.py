"""The file that clients share."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backend.tools.servers import read_tool_servers, write_tool_servers
from engine.values.errors import SettingInvalid
from engine.values.tools import ToolServer

FILES = ToolServer("files", "npx", ("-y", "@modelcontextprotocol/server-filesystem", "/home/ada"), (("KEY", "x y"),))
NOTES = ToolServer("notes", url="https://example.org/mcp", headers=(("Authorization", "Bearer x"),), is_on=False)


def test_what_other_clients_write_is_read() -> None:
    text = """{"mcpServers": {
        "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada"],
                  "env": {"KEY": "x y"}, "alwaysAllow": ["write_file"], "timeout": 60},
        "notes": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer x"},
                  "disabled": true}}}"""
    assert read_tool_servers(text) == (FILES, NOTES)


def test_it_comes_back_as_it_was_written() -> None:
    servers = (FILES, NOTES, ToolServer("clock", "/usr/bin/clock", folder="/tmp", left_out=("set_time",)))
    assert read_tool_servers(write_tool_servers(servers)) == servers


@pytest.mark.parametrize("text", ["", "  ", "{}", '{"mcpServers": {}}'])
def test_there_may_be_none(text: str) -> None:
    assert read_tool_servers(text) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Line 1, column 2 is not valid JSON"),
        ("[]", "are written as"),
        ('{"mcpServers": {"x": 7}}', "are written as"),
        ('{"x": {}}', "either a command or a url"),
        ('{"x": {"command": "a", "url": "http://b"}}', "either a command or a url"),
        ('{"x": {"url": "file:///etc/passwd"}}', "begin with http"),
        ('{"x": {"url": "http://b", "type": "sse"}}', "SSE"),
        ('{"x": {"command": "a", "args": "b"}}', "args of “x” must be a list"),
        ('{"x": {"command": "a", "args": [7]}}', "args of “x” must be a list"),
        ('{"x": {"command": "a", "env": {"b": 7}}}', "env of “x”"),
        ('{"x": {"command": "a\\u0000b"}}', "command of “x”"),
        ('{"x": {"command": "a", "args": ["\\ud800"]}}', "args of “x”"),
        ('{"": {"command": "a"}}', "A server's name"),
        ("[" * 100_000, "This JSON cannot be read"),
        (json.dumps({str(number): {"command": "a"} for number in range(65)}), "65 servers"),
        ('"' + "x" * 1_000_001 + '"', "longer than a megabyte"),
    ],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    with pytest.raises(SettingInvalid, match=words):
        read_tool_servers(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
       | st.dictionaries(st.sampled_from(["mcpServers", "a", "command", "url", "args", "env", "headers", "disabled"]),
                         inner, max_size=3), max_leaves=10))  # fmt: skip
def test_any_json_is_read_or_refused_with_a_sentence(value: object) -> None:
    try:
        servers = read_tool_servers(json.dumps(value))
    except SettingInvalid:
        return
    assert read_tool_servers(write_tool_servers(servers)) == servers


def test_only_what_is_run_is_its_identity() -> None:
    other = ToolServer("other", "npx", FILES.args, (("KEY", "another"),))
    assert other.identity == FILES.identity
    assert ToolServer("files", "npx", ("-y",)).identity != FILES.identity
