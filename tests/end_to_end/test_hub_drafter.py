"""A drafter from a hub on the loopback drafts for the starter: on the command line and in the engine of the window."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.commands.cli import application
from engine import Engine, EngineConfig
from engine.values.errors import FetchFailed
from engine.values.events import SpeculationChanged, TargetReady
from engine.values.targets import LoadOrder
from tests.fakes.hub import FakeHub
from tests.fakes.listener import EventQueue

pytestmark = pytest.mark.starter

NAME = "somebody/tiny-llama"


def test_chat_downloads_a_drafter_once_and_drafts_with_it(server: FakeHub) -> None:
    arguments = ["chat", "--prompt", "Hi.", "--max-tokens", "8", "--temperature", "0", "--json", "--drafter", NAME]
    for asked in (True, False):
        result = CliRunner().invoke(application, arguments)
        assert result.exit_code == 0
        assert json.loads(result.stdout)["rounds"] > 0
        assert bool(server.asked) is asked
        server.asked.clear()


def test_without_speculation_nothing_is_downloaded(server: FakeHub) -> None:
    arguments = ["chat", "--prompt", "Hi.", "--max-tokens", "2", "--no-speculation", "--drafter", NAME]
    assert CliRunner().invoke(application, arguments).exit_code == 0
    assert server.asked == []


def test_bench_takes_names_too(server: FakeHub, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(json.dumps({"id": "1", "turns": ["Hi."]}))
    arguments = ["bench", "--prompts", str(prompts), "--modes", "plain", "--max-tokens", "2", "--drafter", "no/such"]
    result = CliRunner().invoke(application, arguments)
    assert isinstance(result.exception, FetchFailed)
    assert len(server.asked) == 1


def test_the_drafter_is_changed_under_a_loaded_target(server: FakeHub, tmp_path: Path) -> None:
    events = EventQueue()
    engine = Engine(EngineConfig(tmp_path / "data"), events)
    try:
        engine.ask(engine.target.use_drafter, NAME)
        engine.ask(engine.target.load, LoadOrder("starter"))
        assert "not on this computer" in events.wait_for(TargetReady).target.speculation
        engine.ask(engine.drafters.fetch, NAME).result()
        engine.ask(engine.target.use_drafter, NAME)
        while not (changed := events.wait_for(SpeculationChanged)).is_drafting:
            assert changed.sentence == f"{NAME} is being loaded."
    finally:
        engine.close()
    assert len(server.ranges("model.safetensors")) == 1
