"""`slipstream chat --tools`, with a target that calls. One test has a server that runs, too."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import engine.use_cases.chat
import engine.use_cases.tools
import tests.fakes.rogue_server
from engine.values.tools import Tool
from tests.fakes.caller import Caller
from tests.fakes.target import FakeTarget
from tests.fakes.tool_host import FakeToolHost
from tests.unit.app.commands.test_cli import run

CALL = '<tool_call>\n{"name": "echo", "arguments": {"text": "hello"}}\n</tool_call>'


class Terminal:
    """Standard input of somebody who sits there."""

    def __init__(self, *lines: str) -> None:
        self._lines = [*lines]

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self._lines.pop(0) + "\n"


@pytest.fixture
def servers(tmp_path: Path) -> Path:
    script = str(Path(tests.fakes.rogue_server.__file__))
    given = {"command": sys.executable, "args": ["-I", script, "--log", str(tmp_path / "calls.log")]}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"rogue": given}}))
    return path


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> FakeToolHost:
    host = FakeToolHost(
        {Tool("rogue", "echo", schema='{"properties": {"text": {}}}'): lambda given: str(given["text"])}
    )
    monkeypatch.setattr(engine.use_cases.tools, "ServerHost", lambda *_given: host)
    return host


@pytest.fixture(autouse=True)
def target(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Caller(CALL, "Done."))


def use(monkeypatch: pytest.MonkeyPatch, target: FakeTarget) -> None:
    monkeypatch.setattr(engine.use_cases.chat, "load_target", lambda *_arguments: target)


def chat(monkeypatch: pytest.MonkeyPatch, servers: Path, *more: str) -> int:
    options = "--prompt", "Say hello.", "--temperature", "0", "--no-speculation", "--tools", str(servers)
    return run(monkeypatch, "chat", *options, *more)


def test_nothing_runs_where_nobody_can_be_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], servers: Path, host: FakeToolHost
) -> None:
    assert chat(monkeypatch, servers) == 0
    told = capsys.readouterr()
    assert "echo was not called" in told.err
    assert told.out.strip() == "Done."
    assert host.calls == []
    assert host.is_closed


def test_what_is_allowed_beforehand_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], servers: Path
) -> None:
    assert chat(monkeypatch, servers, "--yes-to", "rogue/echo", "--json") == 0
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    (call,) = answer["calls"]
    assert (call["tool"], call["outcome"], call["text"]) == ("echo", "done", "hello")
    assert answer["text"] == "Done."
    assert len((servers.parent / "calls.log").read_text().splitlines()) == 1


@pytest.mark.parametrize(("typed", "runs"), [("y", True), ("n", False), ("", False), ("always", True)])
def test_whoever_sits_there_is_asked(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    servers: Path,
    host: FakeToolHost,
    typed: str,
    runs: bool,
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    assert chat(monkeypatch, servers) == 0
    assert 'The model wants to call echo of rogue with {"text": "hello"}' in capsys.readouterr().err
    assert bool(host.calls) is runs


def test_a_target_that_knows_no_tools_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], servers: Path, host: FakeToolHost
) -> None:
    use(monkeypatch, FakeTarget())
    assert chat(monkeypatch, servers) == 2
    assert "cannot use tools" in capsys.readouterr().err
    assert host.calls == []


def test_a_file_that_is_none_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert chat(monkeypatch, tmp_path / "none.json") == 2
    assert "cannot be read" in capsys.readouterr().err
