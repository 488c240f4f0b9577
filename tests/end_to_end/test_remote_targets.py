"""Conversations with real servers: another Slipstream, and llama.cpp's llama-server where one is there
(`SLIPSTREAM_LLAMA_SERVER` names its file)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import httpx2
import pytest

from engine import Engine, EngineConfig, ReplySettings, SamplingSettings, starter_path
from engine.values.conversations import Conversation, Message
from engine.values.errors import ServerNotAgreed
from engine.values.events import ReplyFinished
from engine.values.growing_reply import ReplySoFar
from engine.values.orders import ContinueReply, Regenerate, ReplyOrder, Send
from engine.values.remote import ServerKind, ServerSeen
from engine.values.replies import StopReason
from engine.values.requests import Failure, Request
from engine.values.targets import LoadOrder
from tests.fakes.listener import EventQueue

pytestmark = [pytest.mark.starter, pytest.mark.timeout(600)]

_PATIENCE_S = 240.0
_E = TypeVar("_E")
GREEDY = ReplySettings(SamplingSettings(temperature=0), max_tokens=12)
ENDLESS = replace(GREEDY, max_tokens=None)
STORY = "Write a long story about the sea, with many chapters."


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@dataclass
class Machine:
    """A server in a process of its own, at a port that stays the same."""

    command: Callable[[int], list[str]]
    log: Path
    port: int = field(default_factory=_free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        with self.log.open("ab") as log:
            environment = {**os.environ, "SLIPSTREAM_DATA_DIR": str(self.log.parent / "served")}
            self.process = subprocess.Popen(self.command(self.port), stdout=log, stderr=log, env=environment)
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text(errors="replace")[-2000:]
            try:
                if httpx2.get(f"{self.address}/health", timeout=5).status_code == 200:
                    return
            except httpx2.HTTPError:
                pass
            time.sleep(0.1)
        raise AssertionError(self.log.read_text(errors="replace")[-2000:])

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def _slipstream(port: int) -> list[str]:
    more = ["--no-speculation", "--context", "2048", "--threads", "2"]
    return [sys.executable, "-m", "app", "serve", "--target", "starter", "--port", str(port), *more]


def _llama_server(port: int) -> list[str]:
    more = ["--host", "127.0.0.1", "-c", "2048", "-np", "1", "-t", "2"]
    return [os.environ["SLIPSTREAM_LLAMA_SERVER"], "-m", str(starter_path()), "--port", str(port), *more]


@pytest.fixture(params=["slipstream", "llama-server"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Machine, ServerKind]]:
    if request.param == "llama-server" and not os.environ.get("SLIPSTREAM_LLAMA_SERVER"):
        pytest.skip("SLIPSTREAM_LLAMA_SERVER names no llama-server")
    machine = Machine(_slipstream if request.param == "slipstream" else _llama_server, tmp_path / "server.log")
    try:
        machine.start()
        yield machine, ServerKind(request.param)
    finally:
        machine.kill()


class Desk:
    def __init__(self, folder: Path) -> None:
        self.events = EventQueue()
        self.engine = Engine(EngineConfig(folder), self.events)

    def ask(self, order: ReplyOrder) -> Request[None]:
        self.events.seen.clear()
        return self.events.ask(self.engine, self.engine.chat.answer, order)

    def wait(self, kind: type[_E]) -> _E:
        return self.events.wait_for(kind, _PATIENCE_S)

    def begin(self, order: ReplyOrder) -> Request[None]:
        """Returns when the reply has begun."""
        request = self.ask(order)
        while not self.wait(ReplySoFar).num_pieces:
            pass
        return request

    def fails(self, order: ReplyOrder) -> Failure:
        failure = self.ask(order).failure
        assert failure is not None
        return failure

    def opened(self, number: int) -> Conversation:
        return self.engine.ask(self.engine.chats.open, number).result()

    def reply(self, order: ReplyOrder) -> Message:
        self.ask(order).result(_PATIENCE_S)
        return self.wait(ReplyFinished).message


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "data")
    yield desk
    assert desk.engine.close()


def test_a_chat_with_a_real_server(machine: tuple[Machine, ServerKind], desk: Desk) -> None:
    server, kind = machine
    # It is found, kept, and agreed to with the first message
    looked = desk.engine.ask(desk.engine.remote.look, server.address).result()
    assert isinstance(looked, ServerSeen)
    seen = looked.server
    assert seen.kind is kind
    (model,) = seen.models
    assert model.context_size == 2048
    assert model.sees_pictures is False
    desk.engine.ask(desk.engine.remote.save, seen).result()
    target = desk.engine.ask(desk.engine.target.load, LoadOrder(model.reference)).result()
    assert target.server is not None
    refused = desk.fails(Send(STORY, None, GREEDY))
    assert refused.error is ServerNotAgreed
    desk.engine.ask(desk.engine.remote.agree, target.server.address).result()

    # A conversation
    first = desk.reply(Send("Say hello.", None, GREEDY))
    number = first.conversation_id
    assert first.text
    assert first.server == target.server.address
    assert first.statistics is not None
    assert first.statistics.prompt_tokens > 5
    assert 0 < first.statistics.reply_tokens <= 13
    second = desk.reply(Send("Say it again.", number, GREEDY))
    assert len(desk.opened(number).messages) == 4

    # Branches
    again = desk.reply(Regenerate(number, GREEDY))
    assert again.parent_id == second.parent_id
    assert again.text == second.text, "both are greedy"
    assert len(desk.opened(number).siblings[again.id]) == 2

    # Stop, and continue
    endless = desk.begin(Send(STORY, number, ENDLESS))
    began = time.monotonic()
    endless.stop()
    stopped = desk.wait(ReplyFinished).message
    assert time.monotonic() - began < 2
    endless.result(_PATIENCE_S)
    assert stopped.statistics is not None
    assert stopped.statistics.stop_reason is StopReason.STOPPED
    longer = desk.reply(ContinueReply(number, GREEDY))
    assert longer.text.startswith(stopped.text)
    assert len(longer.text) > len(stopped.text)

    # Killed in the middle of a reply; nothing is lost, and it goes on when the server is there again
    lost = desk.begin(Send(STORY + " Go on.", number, ENDLESS))
    server.kill()
    half = desk.wait(ReplyFinished).message
    failed = lost.failure
    assert failed is not None
    assert "What arrived is kept" in failed.sentence
    assert half.text
    assert half.statistics is not None
    assert half.statistics.stop_reason is StopReason.CUT_OFF
    gone = desk.fails(Regenerate(number, GREEDY))
    assert "cannot be reached" in gone.sentence
    assert desk.opened(number).messages[-1].text == half.text
    server.start()
    whole = desk.reply(ContinueReply(number, GREEDY))
    assert whole.text.startswith(half.text)
    assert len(whole.text) > len(half.text)
    assert desk.opened(number).servers == (target.server.address,)

    # From the command line, of which the window's list is no part
    chat = "chat", "--target", model.reference, "--prompt", "Say hello.", "--max-tokens", "8", "--json"
    command = [sys.executable, "-m", "app", *chat, "--yes-to-server"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["reply_tokens"] > 0
