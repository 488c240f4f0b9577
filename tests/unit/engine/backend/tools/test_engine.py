"""Tools through the engine's own threads: a reply waits on one while the user answers on another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import engine.loading
import engine.opening
from engine import Engine, EngineConfig
from engine.values.config import LearningSettings, ReplySettings, SamplingSettings, SpeculationSettings
from engine.values.events import ReplyFinished, TargetReady, ToolAsked, ToolFinished, ToolServerChanged, ToolsListed
from engine.values.orders import Send
from engine.values.targets import LoadOrder
from engine.values.tools import AllowedTool, Outcome, Permission, ServerState, definition_of
from tests.fakes.caller import ANSWER, Caller
from tests.fakes.listener import EventQueue
from tests.fakes.tool_host import FORECAST, WEATHER, FakeToolHost

SETTINGS = ReplySettings(SamplingSettings(temperature=0), max_tokens=400, tools=("weather",))


class Desk:
    def __init__(self, folder: Path) -> None:
        self.events = EventQueue()
        config = EngineConfig(folder, SpeculationSettings(enabled=False), LearningSettings(enabled=False))
        self.engine = Engine(config, self.events)

    def answer(self, call_id: str, permission: Permission) -> None:
        self.engine.ask(self.engine.asking.answer, call_id, permission).result()


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> FakeToolHost:
    host = FakeToolHost()

    def made(_config: EngineConfig, emit: object, _keys: object) -> FakeToolHost:
        host.emit = emit  # type: ignore[assignment]
        return host

    monkeypatch.setattr(engine.opening, "make_tool_host", made)
    monkeypatch.setattr(engine.loading, "load_target", lambda *_arguments: Caller())
    return host


@pytest.fixture
def desk(tmp_path: Path, host: FakeToolHost) -> Iterator[Desk]:
    desk = Desk(tmp_path / "store")
    model = tmp_path / "caller.gguf"
    model.write_bytes(b"GGUF")
    desk.engine.ask(desk.engine.tools.use, (WEATHER,)).result()
    desk.engine.ask(desk.engine.target.load, LoadOrder(str(model)))
    desk.events.wait_for(TargetReady)
    yield desk
    assert desk.engine.close()
    assert host.is_closed


def test_the_answer_reaches_the_reply_that_waits(desk: Desk, host: FakeToolHost) -> None:
    desk.engine.ask(desk.engine.chat.answer, Send("Rain?", None, SETTINGS))
    asked = desk.events.wait_for(ToolAsked)
    assert (asked.tool, asked.call.tool) == (FORECAST, "forecast")
    assert host.calls == []
    desk.answer(asked.call.id, Permission.ALWAYS)
    assert desk.events.wait_for(ToolFinished).message.text == "Rain in Paris."
    assert desk.events.wait_for(ReplyFinished).message.text == ANSWER
    allowed = AllowedTool("weather", "forecast", definition_of(WEATHER, FORECAST))
    assert desk.engine.ask(desk.engine.chats.allowed_tools).result() == (allowed,)
    assert desk.engine.ask(desk.engine.editor.forget_allowed_tools, (allowed,)).result() == ()


def test_stop_ends_a_call_that_runs(desk: Desk, host: FakeToolHost) -> None:
    host.waits = True
    reply = desk.engine.ask(desk.engine.chat.answer, Send("Rain?", None, SETTINGS))
    desk.answer(desk.events.wait_for(ToolAsked).call.id, Permission.ONCE)
    assert host.is_waiting.wait(60)
    reply.stop()
    result = desk.events.wait_for(ToolFinished).message.result
    assert result is not None
    assert result.outcome is Outcome.STOPPED


def test_an_answer_that_nobody_waits_for_changes_nothing(desk: Desk, host: FakeToolHost) -> None:
    desk.answer("aaaaaaaaa", Permission.ALWAYS)
    assert host.calls == []


def test_servers_are_listed_and_ended(desk: Desk) -> None:
    desk.engine.ask(desk.engine.tools.list_tools)
    assert desk.events.wait_for(ToolsListed).tools == (FORECAST,)
    desk.engine.ask(desk.engine.tools.end)
    while desk.events.wait_for(ToolServerChanged).state is not ServerState.ENDED:
        pass
