"""Servers that others have published, where they are installed: `pip install mcp-server-time mcp-server-git
mcp-server-fetch`, `npm install @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory
@modelcontextprotocol/server-everything`, and their folders on the path, or in SLIPSTREAM_SERVERS."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.backend.tools.host import ServerHost
from engine.backend.tools.interface import ToolAnswer
from engine.values.stop_signal import StopSignal
from engine.values.tools import Outcome, ToolServer

PLACES = os.pathsep.join(filter(None, (os.environ.get("SLIPSTREAM_SERVERS", ""), os.environ.get("PATH", ""))))


@pytest.fixture(scope="module")
def host() -> Iterator[ServerHost]:
    host = ServerHost(lambda _event: None)
    yield host
    host.close()


def begin(host: ServerHost, program: str, *arguments: str, **env: str) -> None:
    found = shutil.which(program, path=PLACES)
    if found is None:
        pytest.skip(f"{program} is not installed")
    host.use([ToolServer("it", found, arguments, tuple(env.items()))])


def call(host: ServerHost, name: str, **arguments: object) -> ToolAnswer:
    tool = next(each for each in host.tools_of("it", StopSignal()) if each.name == name)
    return host.call(tool, json.dumps(arguments), StopSignal())


def test_the_time(host: ServerHost) -> None:
    begin(host, "mcp-server-time")
    answer = call(host, "get_current_time", timezone="Europe/Berlin")
    assert json.loads(answer.text)["timezone"] == "Europe/Berlin"


def test_files(host: ServerHost, tmp_path: Path) -> None:
    begin(host, "mcp-server-filesystem", str(tmp_path))
    assert call(host, "write_file", path=str(tmp_path / "a.txt"), content="hello").outcome is Outcome.DONE
    assert (tmp_path / "a.txt").read_text() == "hello"
    assert call(host, "read_text_file", path=str(tmp_path / "a.txt")).text == "hello"
    refused = call(host, "read_text_file", path="/etc/passwd")
    assert refused.outcome is Outcome.FAILED
    assert "Access denied" in refused.text


def test_memory(host: ServerHost, tmp_path: Path) -> None:
    begin(host, "mcp-server-memory", MEMORY_FILE_PATH=str(tmp_path / "memory.json"))
    ada = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
    assert call(host, "create_entities", entities=[ada]).outcome is Outcome.DONE
    assert "likes tea" in call(host, "search_nodes", query="tea").text


def test_git(host: ServerHost, tmp_path: Path) -> None:
    begin(host, "mcp-server-git")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "new.txt").touch()
    assert "new.txt" in call(host, "git_status", repo_path=str(tmp_path)).text


def test_pages(host: ServerHost) -> None:
    begin(host, "mcp-server-fetch")
    answer = call(host, "fetch", url="http://127.0.0.1:9/")
    assert answer.outcome is Outcome.FAILED, "nothing is reached, and that is said"
    assert answer.text


def test_everything_that_a_server_may_answer_with(host: ServerHost) -> None:
    begin(host, "mcp-server-everything")
    assert call(host, "echo", message="hello").text == "Echo: hello"
    assert call(host, "get-sum", a=2, b=3).text == "The sum of 2 and 3 is 5."
    assert "[picture: image/png" in call(host, "get-tiny-image").text
    assert call(host, "get-resource-links", count=1).outcome is Outcome.DONE
    assert "temperature" in call(host, "get-structured-content", location="New York").text
